#pragma once
// The mixer of gated delta networks: linear attention that corrects what its state holds.

#include <string>

#include "models/layers.hpp"

namespace penstock::models {

/// Yang et al., Gated Delta Networks, ICLR 2025, as Qwen3-Next and OLMo Hybrid have it; with `channel_decay` and
/// `latent` Kimi Delta Attention (Kimi Linear, 2025). Projections have no biases.
struct DeltaNet {
  std::int64_t key_heads, value_heads;  ///< of queries and keys, which groups of heads of values share
  std::int64_t key_width, value_width;  ///< of one head
  std::int64_t kernel = 4;              ///< tokens of the convolution
  std::int64_t chunk = 64;              ///< tokens; flash-linear-attention's default
  bool channel_decay = false;           ///< a decay for each number of a key, not for each head
  std::int64_t latent = 0;  ///< width between two projections to decay and gate; 0: one projection each
};

/// Returns as many numbers per token as `x` has. Operators are <name>.in_proj, .qkv, .z (views), .gates, .conv,
/// .scan, .norm and .out_proj; with `latent` .in_proj (query, key, value), .steps, .decay_down, .decay_up,
/// .gate_down and .gate_up before .conv. Query, key and value are convolved together.
Tensor delta_net(Layers& net, const std::string& name, const Tensor& x, const DeltaNet& mixer);

}  // namespace penstock::models
