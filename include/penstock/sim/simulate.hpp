#pragma once
// Discrete-event simulation of one training iteration.

#include "penstock/cost/problem.hpp"
#include "penstock/schedule/task_order.hpp"
#include "penstock/sim/network_model.hpp"
#include "penstock/trace/trace.hpp"

namespace penstock::sim {

/// Executes plan and order on the problem's cluster: compute in the given order on every device, transfers
/// over the links as the network model says, gradient all-reduce after the last backward pass. The plan must
/// be structurally valid (plan::structural_faults). Same inputs, same trace, on every platform. Throws an
/// invalid-plan error when the order deadlocks.
trace::Trace simulate(const cost::Problem& problem, const plan::Plan& plan, const schedule::TaskOrder& order,
                      const SimulationOptions& options = {});

/// The iteration time alone, without recording a trace.
core::Picoseconds simulate_time(const cost::Problem& problem, const plan::Plan& plan,
                                const schedule::TaskOrder& order, const SimulationOptions& options = {});

/// How many tasks `simulate` runs for this plan: passes on every replica, messages, all-reduces.
std::size_t task_count(const cost::Problem& problem, const plan::Plan& plan,
                       const schedule::TaskOrder& order);

}  // namespace penstock::sim
