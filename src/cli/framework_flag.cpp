#include "framework_flag.hpp"

#include <algorithm>

#include "command.hpp"
#include "models/catalogue.hpp"
#include "penstock/core/error.hpp"
#include "penstock/experiment/inputs.hpp"
#include "penstock/frameworks/framework.hpp"

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

void FrameworkFlag::choose_for(const std::string& given, const plan::ModelRef& model) {
  if (!name_.empty() || given == model.name || !models::is_language_model(model.name)) return;
  name_ = frameworks::catalogue().front().name;
  chosen_ = true;
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

std::string FrameworkFlag::runnable_by() const {
  return name_ == kAny ? "" : name_;
}

std::string FrameworkFlag::named(const planners::PlannerChoice& planner) const {
  return written(planner) + (runnable_by().empty() ? "" : " for " + name_);
}

LoadedProblem FrameworkFlag::load(ProblemFlags problem) const {
  if (runnable_by().empty()) return problem.load();
  const plan::ClusterRef ref = problem.cluster.ref();
  if (!chosen_)
    problem.cluster.runtime =
        experiment::runtime_for(name_, ref, problem.costs.file, experiment::load_cluster({ref.name, 0}));
  LoadedProblem out = problem.load("flash");
  out.assumptions.push_back(*assumption());
  return out;
}

std::optional<experiment::ProblemAssumption> FrameworkFlag::assumption() const {
  if (runnable_by().empty()) return {};
  return experiment::ProblemAssumption{"for",
                                       "plans that " + frameworks::framework_named(name_).title + " can run",
                                       "--for any", "runnable_by=", chosen_};
}

}  // namespace penstock::cli
