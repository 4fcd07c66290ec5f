#include "framework_flag.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "command.hpp"
#include "penstock/core/error.hpp"
#include "penstock/experiment/inputs.hpp"
#include "penstock/frameworks/framework.hpp"
#include "penstock/plan/layer_row.hpp"

namespace penstock::cli {
namespace {

constexpr const char* kAny = "any";

std::vector<std::string> choices() {
  std::vector<std::string> out = frameworks::framework_names();
  out.emplace_back(kAny);
  return out;
}

/// The framework that the plan states, without "+compiled"; else the usual one, if it runs the cluster.
std::string framework_of(const plan::ClusterRef& stated, const cluster::Cluster& cluster) {
  if (!stated.runtime.empty()) return stated.runtime.substr(0, stated.runtime.find('+'));
  const cluster::NamedRuntime& usual = cluster::usual_runtime();
  return cluster.types().front().host() == usual.runtime ? usual.name : "";
}

}  // namespace

void FrameworkFlag::add(CLI::App& command, const std::string& usual) {
  command
      .add_option(
          "--for", name_,
          "search among the plans that this framework can run: one set of degrees for all stages, whole "
          "layers, its own schedules. penstock export writes the answer as it is. joint searches there; "
          "answers of other planners become the nearest such plan. any: all plans. Default: " +
              usual)
      ->type_name("FRAMEWORK")
      ->check(one_of(choices()));
}

void FrameworkFlag::stay_with(const plan::Plan& plan, const cost::Problem& problem) {
  if (!name_.empty()) return;
  const std::string runs = framework_of(plan.cluster, problem.cluster);
  const auto names = frameworks::framework_names();
  if (std::ranges::find(names, runs) == names.end()) return;
  if (!frameworks::refusals(frameworks::framework_named(runs), problem.graph, plan, false).empty()) return;
  name_ = runs;
  chosen_ = true;
}

std::string FrameworkFlag::runnable_by() const {
  return name_ == kAny ? "" : name_;
}

std::string FrameworkFlag::named(const planners::PlannerChoice& planner) const {
  return written(planner) + (runnable_by().empty() ? "" : " for " + name_);
}

LoadedProblem FrameworkFlag::load_limited(ProblemFlags problem) const {
  if (runnable_by().empty()) return problem.load(false);
  const plan::ClusterRef ref = problem.cluster.ref();
  if (!chosen_)
    problem.cluster.runtime =
        experiment::runtime_for(name_, ref, problem.costs.file, experiment::load_cluster({ref.name, 0}));
  LoadedProblem out = problem.load(true);
  out.assumptions.push_back(*assumption());
  return out;
}

/// Takes back the chosen framework if it cannot train the model. Returns the reason if so.
std::optional<std::string> FrameworkFlag::gives_up(const plan::ModelRef& model, const graph::OpGraph& graph) {
  if (!chosen_) return {};
  try {
    [[maybe_unused]] const frameworks::RunnablePlans possible(frameworks::framework_named(name_), graph,
                                                              experiment::resolved(model));
    return {};
  } catch (const core::BadInput& fault) {
    name_.clear();
    chosen_ = false;
    return fault.what();
  }
}

LoadedProblem FrameworkFlag::load(ProblemFlags problem) {
  if (name_.empty() && problem.is_released()) {
    name_ = frameworks::catalogue().front().name;
    chosen_ = true;
  }
  LoadedProblem out = load_limited(problem);
  const auto reason = gives_up(out.cell.model, out.graph);
  if (!reason) return out;
  say(fmt::format("note: {}: the search is not limited to its plans\n", *reason));
  out = load_limited(std::move(problem));
  out.whole_layers = std::holds_alternative<plan::LayerRow>(plan::layer_row(out.graph));
  if (out.whole_layers)
    out.assumptions.push_back({"for", "plans of whole layers", "--for any", "runnable_by=", true});
  return out;
}

void keep_layers_whole(const LoadedProblem& loaded, planners::PlannerChoice& planner) {
  if (!loaded.whole_layers || planner.name != "joint") return;
  planner.options.try_emplace("units", "layers");
  planner.options.try_emplace("starts", "direct");
}

std::optional<experiment::ProblemAssumption> FrameworkFlag::assumption() const {
  if (runnable_by().empty()) return {};
  return experiment::ProblemAssumption{"for",
                                       "plans that " + frameworks::framework_named(name_).title + " can run",
                                       "--for any", "runnable_by=", chosen_};
}

}  // namespace penstock::cli
