#include "penstock/experiment/search_limit.hpp"

#include <algorithm>
#include <variant>

#include "penstock/experiment/inputs.hpp"
#include "penstock/frameworks/framework.hpp"
#include "penstock/plan/layer_row.hpp"

namespace penstock::experiment {
namespace {

/// The framework that the plan states, without "+compiled"; else the usual one, if it runs the cluster.
std::string stated_framework(const plan::ClusterRef& stated, const cluster::Cluster& cluster) {
  if (!stated.runtime.empty()) return stated.runtime.substr(0, stated.runtime.find('+'));
  const cluster::NamedRuntime& usual = cluster::usual_runtime();
  const cluster::FrameworkRuntime host = cluster.types().front().host();
  return host == usual.runtime || host == cluster::runtime(usual.name) ? usual.name : "";
}

}  // namespace

SearchLimit usual_limit(const plan::ModelRef& model, const graph::OpGraph& graph) {
  const std::string name = frameworks::catalogue().front().name;
  try {
    [[maybe_unused]] const frameworks::RunnablePlans possible(frameworks::framework_named(name), graph,
                                                              resolved(model));
    return {.framework = name};
  } catch (const core::BadInput& fault) {
    return {.reason = fault.what(),
            .whole_layers = std::holds_alternative<plan::LayerRow>(plan::layer_row(graph))};
  }
}

std::string framework_near(const plan::Plan& plan, const cost::Problem& problem) {
  const std::string runs = stated_framework(plan.cluster, problem.cluster);
  const auto names = frameworks::framework_names();
  if (std::ranges::find(names, runs) == names.end()) return "";
  return frameworks::refusals(frameworks::framework_named(runs), problem.graph, plan, false).empty() ? runs
                                                                                                     : "";
}

ProblemAssumption limit_assumption(const std::string& framework, bool assumed) {
  return {"for", "plans that " + frameworks::framework_named(framework).title + " can run", "--for any",
          "runnable_by=", assumed};
}

ProblemAssumption whole_layers_assumption() {
  return {"for", "plans of whole layers", "--for any", "runnable_by=", true};
}

void keep_layers_whole(planners::PlannerChoice& planner) {
  if (planner.name != "joint") return;
  planner.options.try_emplace("units", "layers");
  planner.options.try_emplace("starts", "direct");
}

}  // namespace penstock::experiment
