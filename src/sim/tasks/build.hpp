#pragma once
// From a plan's program to the task graph of one iteration.

#include "penstock/cost/problem.hpp"
#include "penstock/schedule/scheduled_plan.hpp"
#include "penstock/sim/options.hpp"
#include "tasks/filled_passes.hpp"
#include "tasks/stage_tasks.hpp"
#include "tasks/task_graph.hpp"

namespace penstock::sim {

struct Iteration {
  TaskGraph graph;
  std::vector<StageTasks> stages;
  std::vector<std::vector<core::DeviceId>> devices;  ///< [rank]
  std::vector<std::vector<std::vector<cost::OpTime>>>
      collectives;   ///< [stage][replica], of_micro_batch: what is part of passes (cost/sharding.hpp)
  bool cut = false;  ///< passes at the collectives of their groups, which are tasks
};

/// Of a list by micro-batch, or of one entry for all.
template <class T>
const T& of_micro_batch(const std::vector<T>& list, std::size_t micro_batch) {
  return list[list.size() == 1 ? 0 : micro_batch];
}

/// Puts times on a program (program::lower). Rules beyond its own:
///  - a boundary without bytes (a forced order) delays but moves nothing; between stages on one device
///  nothing moves either;
///  - passes that run as one start when the inputs of both are there, and both end at the end;
///  - all-reduces of one rank follow each other; an update waits for its own;
///  - the devices of a tensor-parallel group start their passes together.
///  - with sequences of unlike length passes and messages go by what their samples are filled with; `filled`
///  has the times, null where all samples are full;
///  - with a `copy` (alike_copies.hpp), or a lane of one (alike_lanes.hpp), there are the tasks of its
///  devices alone.
/// Throws BadInput when the tasks outlast the clock, Error(limit) when there are more than 2^31 - 1.
Iteration build_iteration(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                          const SimulationOptions& options, FilledTimes* filled = nullptr,
                          const plan::Plan* copy = nullptr);

}  // namespace penstock::sim
