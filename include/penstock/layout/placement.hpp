#pragma once
// How a tensor is placed on the devices of a tensor-parallel group.

#include <cstdint>

namespace penstock::layout {

/// In the words of GSPMD (Xu et al., 2021) and DTensor, of one mesh dimension: replicated, or sharded along
/// an axis. Partial sums are no placement that anything keeps: they are added, or scattered, as they are
/// made.
enum class Placement : std::uint8_t {
  replicate,
  shard_batch,     ///< by samples
  shard_features,  ///< columns, channels, heads
  shard_tokens,    ///< of a sequence
  sharded,  ///< as it came from another stage, one shard per device (Narayanan et al., SC 2021, section 4.1),
            ///< free to count as one along any axis
};

}  // namespace penstock::layout
