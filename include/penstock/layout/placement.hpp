#pragma once
// Placement of a tensor on the devices of a tensor-parallel group.

#include <cstdint>

namespace penstock::layout {

/// Placement on one mesh dimension, in the terms of GSPMD (Xu et al., 2021) and DTensor: replicated, or
/// sharded along an axis. No tensor stays partial: partial sums are all-reduced or reduce-scattered at once.
enum class Placement : std::uint8_t {
  replicate,
  shard_batch,     ///< by samples
  shard_features,  ///< columns, channels, heads
  shard_tokens,    ///< tokens of a sequence
  /// Received from another stage, one shard per device (Narayanan et al., SC 2021, section 4.1); may be taken
  /// as sharded along any axis.
  sharded,
};

}  // namespace penstock::layout
