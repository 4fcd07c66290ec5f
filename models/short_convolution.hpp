#pragma once
// A mixer of gates around a short convolution.

#include <string>

#include "models/layers.hpp"

namespace penstock::models {

/// The gated convolution of LFM2 (Liquid AI, 2025).
struct GatedConvolution {
  std::int64_t kernel = 3;  ///< tokens
  bool bias = false;        ///< of the convolution and of both projections
};

/// Returns as many numbers per token as `x` has. Operators are <name>.in_proj, .b, .c and .x (views), .gate, .conv,
/// .gate_out and .out_proj.
Tensor gated_convolution(Layers& net, const std::string& name, const Tensor& x,
                         const GatedConvolution& mixer);

}  // namespace penstock::models
