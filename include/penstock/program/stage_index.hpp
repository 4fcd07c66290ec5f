#pragma once
// Positions of a stage's passes in the row of its rank.

#include <vector>

#include "penstock/program/instruction.hpp"

namespace penstock::program {

/// Positions of the first and the last instruction of one pass. They differ if the pass is cut at buckets or
/// collectives, or runs as one with another pass.
struct PassStretch {
  std::int32_t first = -1, last = -1;
};

/// Positions by micro-batch, as counted by the row (ReplicaShare::in_row).
struct StageIndex {
  std::vector<PassStretch> forward;
  /// Instructions that make the gradients for the stages before, beginning with the one that waits for the
  /// gradients of the stages behind. Includes recomputation if it waits for them too.
  std::vector<PassStretch> backward;
  std::vector<std::int32_t> recompute;  ///< first instruction of the recomputation; empty if there is none
  std::vector<std::int32_t> release;    ///< instruction after which nothing of the micro-batch is held
  /// Instruction that frees the buffer into which a forward, or backward, receives; -1: free from the start.
  /// One micro-batch may arrive beyond the maximum that the row holds. So the input of forward j waits for
  /// release j - most - 1. Gradients for backward j wait for backward j - 2. Both count in the order of the
  /// row.
  std::vector<std::int32_t> forward_gate, backward_gate;
};

/// `late`: recomputation waits for the gradients (not plan::Recomputation::early). `micro_batches`: estimate
/// of the number that the row counts.
StageIndex index_stage(const Row& row, core::StageId stage, bool late, std::size_t micro_batches = 0);

}  // namespace penstock::program
