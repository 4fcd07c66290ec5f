#pragma once
// Where the passes of a stage stand in the row of its rank.

#include <vector>

#include "penstock/program/instruction.hpp"

namespace penstock::program {

/// Positions of the first and the last instruction of one pass: several where it is cut at its buckets or its
/// collectives, or runs as one with another.
struct Stretch {
  std::int32_t first = -1, last = -1;
};

/// All lists by micro-batch, as the row counts them (Share::in_row).
struct StageIndex {
  std::vector<Stretch> forward;
  /// Of what makes the gradients for the stages before: from the instruction that waits for those of the
  /// stages behind. Recomputation belongs to it where it waits for them too.
  std::vector<Stretch> backward;
  std::vector<std::int32_t> recompute;  ///< the first of it; empty where nothing is
  std::vector<std::int32_t> release;    ///< the instruction after which nothing of the micro-batch is held
  /// The instruction after which there is room for what its forward, or backward, receives; -1: from the
  /// beginning. One micro-batch may come ahead of the most that the row ever holds: what forward j receives
  /// waits for release j - most - 1, gradients for backward j wait for backward j - 2, counted in the order
  /// of the row.
  std::vector<std::int32_t> forward_gate, backward_gate;
};

/// `late`: what is recomputed waits for the gradients (plan::Recomputation::early). `micro_batches`: about as
/// many as the row counts.
StageIndex index_stage(const Row& row, core::StageId stage, bool late, std::size_t micro_batches = 0);

}  // namespace penstock::program
