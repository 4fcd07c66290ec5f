#pragma once
// What a simulation runs, and the number it is run for.

#include "agenda.hpp"
#include "tasks/build.hpp"

namespace penstock::sim {

/// The tasks of the plan in the world of the options. `filled`: filled_times of them, which runs may share;
/// null: made anew where they are needed.
Iteration prepare(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                  const SimulationOptions& options, std::shared_ptr<FilledTimes> filled = nullptr);

/// Tasks that take as long as the plan, and whose they are.
struct Abridged {
  plan::Plan plan;  ///< one of its copies (one_copy), and a lane of that (one_lane); all where it has none
  Iteration iteration;
};
Abridged abridged(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                  const SimulationOptions& options);

std::int64_t mini_batches(const plan::Plan& plan, const Iteration& iteration);

/// Trace::iteration. Of one mini-batch the makespan alone is asked for.
core::Picoseconds iteration_time(const plan::Plan& plan, const Iteration& iteration, const Times& times);
/// The same of a run that leaves nothing else.
core::Picoseconds time_of(const plan::Plan& plan, const Iteration& iteration,
                          const SimulationOptions& options);
/// The same of a plan that is to beat a time: where it is above, any above, sooner.
core::Picoseconds time_against(const plan::Plan& plan, const Iteration& iteration,
                               const SimulationOptions& options, core::Picoseconds to_beat);

}  // namespace penstock::sim
