#pragma once
// Builds the task graph of one iteration from a plan's program.

#include "penstock/cost/problem.hpp"
#include "penstock/schedule/scheduled_plan.hpp"
#include "penstock/sim/options.hpp"
#include "tasks/filled_passes.hpp"
#include "tasks/stage_tasks.hpp"
#include "tasks/task_graph.hpp"

namespace penstock::sim {

struct IterationTasks {
  TaskGraph graph;
  std::vector<StageTasks> stages;
  std::vector<std::vector<core::DeviceId>> devices;  ///< [rank]
  /// [stage][replica], of_micro_batch: collectives that are part of passes (cost/sharding.hpp)
  std::vector<std::vector<std::vector<cost::OpTime>>> collectives;
  bool cut = false;  ///< passes are cut at the collectives of their groups, which are tasks
};

/// Entry of a list by micro-batch, or of a list with one entry for all.
template <class T>
const T& of_micro_batch(const std::vector<T>& list, std::size_t micro_batch) {
  return list[list.size() == 1 ? 0 : micro_batch];
}

/// Adds times to a program (program::lower). Rules beyond its own:
///  - A boundary without bytes (an imposed order) delays but moves nothing; stages on one device move
///    nothing.
///  - Passes that run as one start when the inputs of both are there, and both end at the end.
///  - All-reduces of one rank follow each other; an update waits for its own.
///  - The devices of a tensor-parallel group start their passes together.
///  - With sequences of different lengths, passes and messages depend on the fill of their samples; `filled`
///    has the times, null if all samples are full.
///  - With a `copy` (alike_copies.hpp), or a lane of one (alike_lanes.hpp), only tasks of its devices exist.
/// Throws BadInput if the tasks exceed the clock, Error(limit) if there are more than 2^31 - 1.
IterationTasks build_iteration(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                               const SimulationOptions& options, FilledTimes* filled = nullptr,
                               const plan::Plan* copy = nullptr);

}  // namespace penstock::sim
