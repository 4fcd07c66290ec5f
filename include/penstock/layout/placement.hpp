#pragma once
// How a tensor is placed on the devices of a tensor-parallel group.

#include <cstdint>

namespace penstock::layout {

/// Placement on one mesh dimension, in the terms of GSPMD (Xu et al., 2021) and DTensor: replicated, or
/// sharded along an axis. No tensor stays partial: partial sums are all-reduced, or reduce-scattered, as they
/// are made.
enum class Placement : std::uint8_t {
  replicate,
  shard_batch,     ///< by samples
  shard_features,  ///< columns, channels, heads
  shard_tokens,    ///< of a sequence
  sharded,  ///< as it came from another stage, one shard per device (Narayanan et al., SC 2021, section 4.1),
            ///< free to count as one along any axis
};

}  // namespace penstock::layout
