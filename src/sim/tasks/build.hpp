#pragma once
// From a scheduled plan to the task graph of one iteration.

#include "penstock/cost/problem.hpp"
#include "penstock/schedule/scheduled_plan.hpp"
#include "penstock/sim/options.hpp"
#include "tasks/stage_tasks.hpp"
#include "tasks/task_graph.hpp"

namespace penstock::sim {

struct Iteration {
  TaskGraph graph;
  std::vector<StageTasks> stages;
  std::vector<std::vector<core::DeviceId>> devices;  ///< [rank]
  std::vector<std::vector<cost::OpTime>>
      collectives;  ///< [stage][replica] what is part of its passes (cost/sharding.hpp)
};

/// Rules beyond data dependencies:
///  - a stage receives at most one micro-batch ahead of those it may hold: the transfer for its forward j
///  waits for
///    release j - most held - 1, and gradients for backward j wait for backward j - 2, counted in the row's
///    order;
///  - a boundary without bytes (a forced order) delays but moves nothing; between stages on one device
///  nothing moves either;
///  - passes that run as one start when the inputs of both are there, and both end at the end;
///  - all-reduces of one rank follow each other; an update waits for its own;
///  - the devices of a tensor-parallel group start their passes together, and a message between replicas
///  travels in as many
///    parts as the larger group has devices, all of which its receivers wait for.
/// Throws BadInput when the tasks outlast the clock, Error(limit) when there are more than 2^31 - 1.
Iteration build_iteration(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                          const SimulationOptions& options);

}  // namespace penstock::sim
