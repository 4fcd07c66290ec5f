#pragma once
// The dense feed-forward of a decoder's layer as operators.

#include "models/decoder.hpp"

namespace penstock::models {

/// Gate and up projection as one product, as Megatron-LM runs them, SwiGLU, down projection: <name>.gate_up,
/// .swiglu, .down.
Tensor gated_feed_forward(Layers& net, const std::string& name, const Tensor& x, std::int64_t width,
                          bool biases = false);

/// gated_feed_forward() for an activation with a gate, unless the operators are numbered; else feed_forward().
Tensor dense_forward(Layers& net, const std::string& name, const Tensor& x, const DenseForm& dense);

}  // namespace penstock::models
