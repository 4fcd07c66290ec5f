#pragma once
// Attention of Llama and its relatives, from the parameters of a model: rotary positions, heads of keys and
// values that groups of heads share.

#include <vector>

#include "models/decoder.hpp"
#include "models/parameters.hpp"

namespace penstock::models {

/// Reads parameters heads, kv_heads, head_width, qkv_bias, qk_norm, attention, mask and window.
HeadAttention read_grouped_attention(const Parameters& p, std::int64_t hidden);
/// Declarations of the last three.
std::vector<ParameterInfo> attention_core_parameters();
/// Declarations of all these parameters, with the numbers of Llama 3 and Mixtral.
std::vector<ParameterInfo> grouped_attention_parameters();

}  // namespace penstock::models
