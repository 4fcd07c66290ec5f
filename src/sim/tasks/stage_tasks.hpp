#pragma once
// Where the tasks of a stage stand in the row of its rank.

#include "tasks/rows.hpp"
#include "tasks/task_graph.hpp"

namespace penstock::sim {

/// Where the tasks of one pass of a micro-batch stand in the rank's row; first and last of a pass that is
/// cut, or runs as one with another.
struct Stretch {
  std::int32_t first = -1, last = -1;
};

/// Where a stage's compute tasks stand: task (position in its rank's row, i-th device) is first + position *
/// devices + i. Micro-batches are counted per replica where replicas take them in turn.
struct StageTasks {
  TaskId first = 0;
  std::int32_t devices = 1;
  std::int32_t group = 1;         ///< devices of one replica, which compute its share together
  std::int64_t micro_batch = 1;   ///< samples
  bool in_turn = false;           ///< replica r computes all samples of micro-batches r, r + replicas, ...
  bool late = false;              ///< what is recomputed waits for its gradient
  std::vector<Stretch> forward;   ///< [micro-batch]
  std::vector<Stretch> backward;  ///< [micro-batch] of the pass that makes the gradients for the stages
                                  ///< before, late recomputation included
  std::vector<std::int32_t> recompute;  ///< [micro-batch] or empty
  std::vector<std::int32_t> release;    ///< [micro-batch] position after which its activations are free
  std::vector<std::int32_t>
      forward_gate;  ///< [micro-batch] position that must end before its input may be sent; -1: none
  std::vector<std::int32_t> backward_gate;  ///< [micro-batch] the same of its gradients

  std::int32_t replicas() const { return devices / group; }
  TaskId at(std::int32_t position, std::int64_t device) const {
    return first + static_cast<TaskId>(std::int64_t{position} * devices + device);
  }
  /// First sample, within its micro-batch, of a replica's share.
  std::int64_t share_start(std::int64_t replica) const {
    return in_turn ? micro_batch * replica : micro_batch * replica / replicas();
  }
  std::int64_t share(std::int64_t replica) const { return share_start(replica + 1) - share_start(replica); }
};

/// Fills in all but the first seven fields: where the stage's passes stand in its rank's row, and their gates
/// (build.hpp).
void index_row(const RankRow& row, std::int32_t stage, StageTasks& out);

}  // namespace penstock::sim
