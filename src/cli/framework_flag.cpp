#include "framework_flag.hpp"

#include <fmt/format.h>

#include "command.hpp"
#include "penstock/core/error.hpp"
#include "penstock/experiment/inputs.hpp"
#include "penstock/experiment/search_limit.hpp"
#include "penstock/frameworks/framework.hpp"

namespace penstock::cli {
namespace {

constexpr const char* kAny = "any";

std::vector<std::string> choices() {
  std::vector<std::string> out = frameworks::framework_names();
  out.emplace_back(kAny);
  return out;
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
  name_ = experiment::framework_near(plan, problem);
  chosen_ = !name_.empty();
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

LoadedProblem FrameworkFlag::load(ProblemFlags problem) {
  if (name_.empty() && problem.is_released()) {
    name_ = frameworks::catalogue().front().name;
    chosen_ = true;
  }
  LoadedProblem out = load_limited(problem);
  if (!chosen_) return out;
  const experiment::SearchLimit limit = experiment::usual_limit(out.cell.model, out.graph);
  if (limit.reason.empty()) return out;
  say(fmt::format("note: {}: the search is not limited to its plans\n", limit.reason));
  name_.clear();
  chosen_ = false;
  out = load_limited(std::move(problem));
  out.whole_layers = limit.whole_layers;
  if (out.whole_layers) out.assumptions.push_back(experiment::whole_layers_assumption());
  return out;
}

std::optional<experiment::ProblemAssumption> FrameworkFlag::assumption() const {
  if (runnable_by().empty()) return {};
  return experiment::limit_assumption(name_, chosen_);
}

}  // namespace penstock::cli
