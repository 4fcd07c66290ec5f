#pragma once
// What a simulation runs, and the number it is run for.

#include "agenda.hpp"
#include "tasks/build.hpp"

namespace penstock::sim {

/// The tasks of the plan in the world of the options.
Iteration prepare(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                  const SimulationOptions& options);

std::int64_t mini_batches(const plan::Plan& plan, const Iteration& iteration);

/// Trace::iteration. Of one mini-batch the makespan alone is asked for.
core::Picoseconds iteration_time(const plan::Plan& plan, const Iteration& iteration, const Times& times);

}  // namespace penstock::sim
