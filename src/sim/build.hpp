#pragma once
// From a plan and its order to the task graph of one iteration.

#include "penstock/cost/problem.hpp"
#include "penstock/plan/stage_graph.hpp"
#include "penstock/schedule/grid.hpp"
#include "penstock/sim/options.hpp"
#include "task_graph.hpp"

namespace penstock::sim {

/// Where the tasks of one pass of a micro-batch stand in the rank's row; first and last of a pass that is cut, or runs as one
/// with another.
struct Stretch {
  std::int32_t first = -1, last = -1;
};

/// Where a stage's compute tasks stand: task (position in its rank's row, replica) is first + position * replicas + replica.
/// Micro-batches are counted per replica where replicas take them in turn.
struct StageTasks {
  TaskId first = 0;
  std::int32_t replicas = 1;
  std::int64_t micro_batch = 1;        ///< samples
  bool in_turn = false;                ///< replica r computes all samples of micro-batches r, r + replicas, ...
  std::vector<Stretch> forward;        ///< [micro-batch]
  std::vector<Stretch> backward;       ///< [micro-batch] of the pass that makes the gradients for the stages before
  std::vector<std::int32_t> recompute; ///< [micro-batch] or empty
  std::vector<std::int32_t> release;   ///< [micro-batch] position after which its activations are free
  std::vector<std::int32_t> forward_gate;   ///< [micro-batch] position that must end before its input may be sent; -1: none
  std::vector<std::int32_t> backward_gate;  ///< [micro-batch] the same of its gradients

  TaskId at(std::int32_t position, std::int64_t replica) const {
    return first + static_cast<TaskId>(position * replicas + replica);
  }
  /// First sample, within its micro-batch, of a replica's share.
  std::int64_t share_start(std::int64_t replica) const {
    return in_turn ? micro_batch * replica : micro_batch * replica / replicas;
  }
  std::int64_t share(std::int64_t replica) const { return share_start(replica + 1) - share_start(replica); }
};

struct Iteration {
  TaskGraph graph;
  std::vector<StageTasks> stages;
  std::vector<std::vector<core::DeviceId>> devices;  ///< [rank]
};

/// Rules beyond data dependencies:
///  - a stage receives at most one micro-batch ahead of those it may hold: the transfer for its forward j waits for
///    release j - most held - 1, and gradients for backward j wait for backward j - 2, counted in the row's order;
///  - a boundary without bytes (a forced order) delays but moves nothing; between stages on one device nothing moves either;
///  - passes that run as one start when the inputs of both are there, and both end at the end;
///  - all-reduces of one rank follow each other; an update waits for its own.
/// Throws BadInput when the tasks outlast the clock, Error(limit) when there are more than 2^31 - 1.
Iteration build_iteration(const cost::Problem& problem, const plan::Plan& plan, const plan::StageGraph& stages,
                          const schedule::Grid& order, const SimulationOptions& options);

}  // namespace penstock::sim
