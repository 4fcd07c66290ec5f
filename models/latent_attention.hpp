#pragma once
// Latent attention as operators.

#include "models/decoder.hpp"

namespace penstock::models {

/// <name>.query_norm and .query_down where queries are projected from a narrow vector, .key_norm, .key_down,
/// .key, .key_rotary, and <name>, the attention itself.
Tensor latent_attention(Layers& net, const std::string& name, const Tensor& x, const LatentAttention& a);

}  // namespace penstock::models
