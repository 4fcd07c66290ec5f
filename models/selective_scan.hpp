#pragma once
// The mixer of Mamba: a state space per channel.

#include <string>

#include "models/layers.hpp"

namespace penstock::models {

/// Mamba (Gu and Dao, 2023), as Jamba has it.
struct SelectiveScan {
  std::int64_t channels, state;
  std::int64_t step_rank;     ///< width that steps are projected from
  std::int64_t kernel = 4;    ///< tokens of the convolution
  std::int64_t chunk = 2048;  ///< tokens between two kept states (mamba_ssm's selective_scan)
  bool bias = false;          ///< of the first and the last projection
  bool conv_bias = true;
  bool norms = false;        ///< of steps, keys and queries (Jamba)
  bool norm_weights = true;  ///< of these norms; Falcon Mamba's have none
};

/// Returns as many numbers per token as `x` has. Operators are <name>.in_proj, .u and .z (views), .conv, .x_proj,
/// .dt and .bc (views), .dt_proj, .scan and .out_proj. With norms, .b and .c replace .bc, and .dt_norm, .b_norm
/// and .c_norm follow. The bias of the steps belongs to .dt_proj, though the scan adds it.
Tensor selective_scan(Layers& net, const std::string& name, const Tensor& x, const SelectiveScan& mixer);

}  // namespace penstock::models
