#pragma once
// Simulation with measured computation: shows which part of a difference is due to passes.

#include <set>

#include "penstock/cost/problem.hpp"
#include "penstock/schedule/scheduled_plan.hpp"
#include "penstock/sim/options.hpp"
#include "penstock/trace/trace.hpp"

namespace penstock::sim {

/// Iteration time if tasks of these kinds take as long as in `measured`, on every device that has stages there.
/// Everything else is as in simulate(): order, messages, reductions, other tasks. A measured backward pass includes
/// its recomputation; a step that `measured` lacks takes no time. Computation with a measured time is not slowed
/// further by communication or neighbours. Preconditions and errors as for simulate().
core::Picoseconds time_with_measured(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                                     const trace::Trace& measured, const std::set<trace::TaskKind>& kinds,
                                     const SimulationOptions& options = {});

}  // namespace penstock::sim
