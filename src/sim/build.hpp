#pragma once
// From a plan and its order to the task graph of one iteration.

#include "penstock/cost/problem.hpp"
#include "penstock/plan/stage_graph.hpp"
#include "penstock/schedule/task_order.hpp"
#include "task_graph.hpp"

namespace penstock::sim {

/// Where a stage's compute tasks stand: task (position in order, replica) is first + position * replicas + replica.
struct StageTasks {
  TaskId first = 0;
  std::int32_t replicas = 1;
  std::int64_t micro_batch = 1;
  std::vector<std::int32_t> forward_position;   ///< [micro-batch]
  std::vector<std::int32_t> backward_position;  ///< [micro-batch]
  std::int32_t most_live = 0;                   ///< largest number of micro-batches between forward and backward

  TaskId forward(std::int64_t m, std::int64_t replica) const {
    return first + static_cast<TaskId>(forward_position[static_cast<std::size_t>(m)] * replicas + replica);
  }
  TaskId backward(std::int64_t m, std::int64_t replica) const {
    return first + static_cast<TaskId>(backward_position[static_cast<std::size_t>(m)] * replicas + replica);
  }
  /// First sample, within its micro-batch, of a replica's share.
  std::int64_t share_start(std::int64_t replica) const { return micro_batch * replica / replicas; }
  std::int64_t share(std::int64_t replica) const { return share_start(replica + 1) - share_start(replica); }
};

struct Iteration {
  TaskGraph graph;
  std::vector<StageTasks> stages;
};

/// Rules beyond data dependencies:
///  - a stage receives at most one micro-batch ahead of those it may hold: the transfer for forward j waits for
///    backward j - most_live - 1, and gradients for backward j wait for backward j - 2;
///  - a boundary without bytes (a forced order) delays but moves nothing;
///  - the gradient all-reduce of a replicated stage follows its last backward pass; closed form, off the links.
Iteration build_iteration(const cost::Problem& problem, const plan::Plan& plan, const plan::StageGraph& stages,
                          const schedule::TaskOrder& order);

}  // namespace penstock::sim
