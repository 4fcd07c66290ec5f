#include "penstock/experiment/profiled_plan.hpp"

#include <set>
#include <string>
#include <utility>

#include "penstock/score/order.hpp"
#include "penstock/sim/measured_passes.hpp"
#include "penstock/sim/simulate.hpp"

namespace penstock::experiment {
namespace {

using trace::TaskKind;

/// Passes that are taken as measured one group after the other.
const std::vector<std::pair<std::string, std::set<TaskKind>>>& measured_groups() {
  static const std::vector<std::pair<std::string, std::set<TaskKind>>> groups = {
      {"forward passes", {TaskKind::forward}},
      {"backward passes", {TaskKind::backward, TaskKind::input_gradient, TaskKind::weight_gradient}},
      {"optimizer steps", {TaskKind::step}}};
  return groups;
}

std::vector<report::IterationCause> causes(const cost::Problem& problem,
                                           const schedule::ScheduledPlan& scheduled,
                                           const trace::ProfiledRun& run,
                                           const sim::SimulationOptions& options) {
  std::vector<report::IterationCause> out;
  std::set<TaskKind> kinds;
  core::Picoseconds before = run.simulated.iteration;
  for (const auto& [what, group] : measured_groups()) {
    kinds.insert(group.begin(), group.end());
    const core::Picoseconds time = sim::time_with_measured(problem, scheduled, run.measured, kinds, options);
    out.push_back({what + " as measured", to_seconds(time - before)});
    before = time;
  }
  out.push_back({"messages, waits, host between passes", to_seconds(run.measured.iteration - before)});
  return out;
}

}  // namespace

report::ProfiledPlan compare_profiles(const cost::Problem& problem, const plan::Plan& plan,
                                      const std::vector<trace::RankProfile>& profiles,
                                      std::optional<std::int64_t> step,
                                      const sim::SimulationOptions& options) {
  const auto scheduled = score::scheduled(problem, plan);
  report::ProfiledPlan out;
  out.run = trace::match_profiles(profiles, sim::simulate(problem, scheduled, options), step);
  out.comparison = trace::compare(out.run.measured, out.run.simulated);
  if (out.run.whole) out.causes = causes(problem, scheduled, out.run, options);
  return out;
}

}  // namespace penstock::experiment
