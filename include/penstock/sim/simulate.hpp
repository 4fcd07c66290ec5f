#pragma once
// Discrete-event simulation of one training iteration.

#include "penstock/cost/problem.hpp"
#include "penstock/schedule/scheduled_plan.hpp"
#include "penstock/sim/options.hpp"
#include "penstock/trace/summary.hpp"

namespace penstock::sim {

/// Executes the plan in its order on the problem's cluster. Every device computes in the order of its rank;
/// transfers use the links as the network model states; gradients are reduced as the options state. For an
/// order of several mini-batches, the iteration time is the time per mini-batch of schedule::steady_part. The plan
/// must be structurally valid (plan::structural_violations), the order without violations. Equal inputs give
/// equal traces on every platform. Throws an invalid-plan error if the order deadlocks.
trace::Trace simulate(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                      const SimulationOptions& options = {});

/// Equals summarise(simulate(...)), without storing a trace, the largest part of a long run's memory.
trace::Summary simulate_summary(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                                const SimulationOptions& options = {});

/// Returns the iteration time without recording a trace. If replicas run side by side, equal and on separate
/// links, one copy is simulated for all: equal result, for thousands of devices in milliseconds.
core::Picoseconds simulate_time(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                                const SimulationOptions& options = {});

/// Iteration time of a plan in a search. For a plan slower than `to_beat` it may return any value above
/// `to_beat`, which takes less time.
core::Picoseconds simulate_time_against(const cost::Problem& problem,
                                        const schedule::ScheduledPlan& scheduled, core::Picoseconds to_beat,
                                        const SimulationOptions& options = {});

/// Number of tasks that `simulate` runs for this plan: passes on every replica, messages, updates.
std::size_t task_count(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                       const SimulationOptions& options = {});

}  // namespace penstock::sim
