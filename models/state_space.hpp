#pragma once
// The mixer of Mamba-2: a state space whose heads share keys and queries.

#include <string>

#include "models/layers.hpp"

namespace penstock::models {

/// Mamba-2 (Dao and Gu, ICML 2024), as Bamba, Falcon-H1, Nemotron-H, Granite 4 and Zamba2 have it.
struct StateSpace {
  std::int64_t heads, head_width, groups, state;  ///< groups of heads share keys and queries of width `state`
  std::int64_t kernel = 4;                        ///< tokens of the convolution
  std::int64_t chunk = 256;                       ///< tokens; mamba_ssm's default
  bool in_bias = false, out_bias = false;         ///< of the projections
  bool conv_bias = true;
  bool norm =
      true;  ///< a gated norm behind the scan; else the scan's kernel multiplies by the gate (Falcon-H1)
};

/// Returns as many numbers per token as `x` has. Operators are <name>.in_proj, .z, .xbc and .dt (views of it),
/// .conv, .scan, .norm and .out_proj.
Tensor state_space(Layers& net, const std::string& name, const Tensor& x, const StateSpace& mixer);

}  // namespace penstock::models
