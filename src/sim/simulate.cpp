#include "penstock/sim/simulate.hpp"

#include "run_by_device.hpp"
#include "tasks/prepare.hpp"

namespace penstock::sim {
namespace {

/// Tasks and times of a finished run.
struct FinishedRun {
  IterationTasks iteration;
  TaskTimes times;
};

FinishedRun finished_run(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                         const SimulationOptions& options) {
  FinishedRun out{prepare(problem, scheduled, options), {}};
  out.times = run(out.iteration.graph, options.network, true, options.stop);
  out.iteration.graph.forget_edges();
  return out;
}

}  // namespace

trace::Trace simulate(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                      const SimulationOptions& options) {
  const FinishedRun run = finished_run(problem, scheduled, options);
  return trace::whole(RunByDevice(problem, scheduled.plan, run.iteration, run.times));
}

trace::Summary simulate_summary(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                                const SimulationOptions& options) {
  const FinishedRun run = finished_run(problem, scheduled, options);
  return trace::summarise(RunByDevice(problem, scheduled.plan, run.iteration, run.times));
}

core::Picoseconds simulate_time(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                                const SimulationOptions& options) {
  const AbridgedPlan run = abridged(problem, scheduled, options);
  return time_of(run.plan, run.iteration, options);
}

core::Picoseconds simulate_time_against(const cost::Problem& problem,
                                        const schedule::ScheduledPlan& scheduled, core::Picoseconds to_beat,
                                        const SimulationOptions& options) {
  const AbridgedPlan run = abridged(problem, scheduled, options);
  return time_against(run.plan, run.iteration, options, to_beat);
}

std::size_t task_count(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                       const SimulationOptions& options) {
  return prepare(problem, scheduled, options).graph.tasks.size();
}

}  // namespace penstock::sim
