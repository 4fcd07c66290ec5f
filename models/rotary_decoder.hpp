#pragma once
// Decoders of Llama and its relatives: the common parts of their layers and their two ends.

#include <functional>
#include <string>

#include "models/grouped_attention.hpp"

namespace penstock::models {

/// Attention after a norm, added to its input: <name>.norm1, .attention, .add1.
Tensor attend(Layers& net, const std::string& name, const Tensor& x, const GroupedAttention& attention);

/// Gate and up projection as one product, as Megatron-LM runs them, SwiGLU, down projection: <name>.gate_up,
/// .swiglu, .down.
Tensor gated_feed_forward(Layers& net, const std::string& name, const Tensor& x, std::int64_t width);

/// Attention and gated feed-forward, each in its residual branch.
Tensor llama_layer(Layers& net, const std::string& name, const Tensor& x, const GroupedAttention& attention,
                   std::int64_t width);

/// Makes a layer from its name and its input.
using DecoderLayer = std::function<Tensor(Layers&, const std::string&, const Tensor&)>;

/// Embedded tokens, layers, a norm, the head, and the loss if chosen. Reads parameters vocabulary, hidden,
/// sequence, layers, tied_head and loss.
graph::OpGraph rotary_decoder(const Parameters& p, const DecoderLayer& layer);

}  // namespace penstock::models
