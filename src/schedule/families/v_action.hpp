#pragma once
// Two chunks in a V: the six kinds of passes of a rank, in the order of a micro-batch.

#include "penstock/schedule/schedule.hpp"

namespace penstock::schedule {

/// Kinds 0 to 5: F down, F up, I of the chunk up, I of the chunk down, W up, W down.
inline Action v_action(int kind, int rank, int micro_batch, int ranks) {
  const int down = rank, up = 2 * ranks - 1 - rank;
  switch (kind) {
    case 0:
      return forward(down, micro_batch);
    case 1:
      return forward(up, micro_batch);
    case 2:
      return input_gradient(up, micro_batch);
    case 3:
      return input_gradient(down, micro_batch);
    case 4:
      return weight_gradient(up, micro_batch);
    default:
      return weight_gradient(down, micro_batch);
  }
}

}  // namespace penstock::schedule
