#pragma once
// Tasks of a simulation, and the result taken from its run.

#include "agenda.hpp"
#include "tasks/build.hpp"

namespace penstock::sim {

/// Returns the tasks of the plan under the options. `filled`: result of filled_times, which runs may share;
/// null: computed if needed.
IterationTasks prepare(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                       const SimulationOptions& options, std::shared_ptr<FilledTimes> filled = nullptr);

/// Fewer tasks that take as long as the whole plan, and the plan they belong to.
struct AbridgedPlan {
  plan::Plan plan;  ///< a copy (one_copy) and a lane of it (one_lane); the whole plan if there is none
  IterationTasks iteration;
};
AbridgedPlan abridged(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                      const SimulationOptions& options);

std::int64_t mini_batches(const plan::Plan& plan, const IterationTasks& iteration);

/// Trace::iteration. For one mini-batch only the makespan is needed.
core::Picoseconds iteration_time(const plan::Plan& plan, const IterationTasks& iteration,
                                 const TaskTimes& times);
/// Iteration time from a run that keeps nothing else.
core::Picoseconds time_of(const plan::Plan& plan, const IterationTasks& iteration,
                          const SimulationOptions& options);
/// Like time_of, but may return early with any value above `to_beat` if the result is above it.
core::Picoseconds time_against(const plan::Plan& plan, const IterationTasks& iteration,
                               const SimulationOptions& options, core::Picoseconds to_beat);

}  // namespace penstock::sim
