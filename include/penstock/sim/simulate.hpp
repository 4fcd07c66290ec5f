#pragma once
// Discrete-event simulation of one training iteration.

#include "penstock/cost/problem.hpp"
#include "penstock/schedule/scheduled_plan.hpp"
#include "penstock/sim/options.hpp"
#include "penstock/trace/summary.hpp"

namespace penstock::sim {

/// Executes the plan in its order on the problem's cluster: every device computes in the order of its rank,
/// transfers go over the links as the network model says, gradients are reduced as the options say. An order
/// over several mini-batches gives the time that one adds in the second half of them. The plan must be
/// structurally valid (plan::structural_violations), the order without violations. Same inputs, same trace,
/// on every platform. Throws an invalid-plan error when the order deadlocks.
trace::Trace simulate(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                      const SimulationOptions& options = {});

/// summarise(simulate(...)), without a trace, which is most of what a long run holds.
trace::Summary simulate_summary(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                                const SimulationOptions& options = {});

/// The iteration time alone, without recording a trace. Of replicas that run side by side, all alike, on
/// links of their own, one copy is simulated for all: the same time, of thousands of devices in milliseconds.
core::Picoseconds simulate_time(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                                const SimulationOptions& options = {});

/// Iteration time of a plan that is to beat a time: a slower plan may get any answer above it, and gets it
/// sooner.
core::Picoseconds simulate_time_against(const cost::Problem& problem,
                                        const schedule::ScheduledPlan& scheduled, core::Picoseconds to_beat,
                                        const SimulationOptions& options = {});

/// How many tasks `simulate` runs for this plan: passes on every replica, messages, updates.
std::size_t task_count(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                       const SimulationOptions& options = {});

}  // namespace penstock::sim
