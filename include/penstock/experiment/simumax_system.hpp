#pragma once
// Reads SimuMax's machine descriptions (MooreThreads/SimuMax, configs/system/*.json): measured efficiencies
// by exact shape.

#include <string>

#include "penstock/cost/kernel_tables.hpp"

namespace penstock::experiment {

struct SystemTables {
  cost::TableCosts costs;  ///< the device has the name of the system, such as "b200_bf16"
  std::size_t left_out =
      0;  ///< skipped shapes: batched products, and attention whose values and keys differ in width
};

/// Parses `accelerator.op`. `matmul` has keys "b=1, m=.., k=.., n=.., layout=..": TN is a forward product, NN
/// an input gradient, NT a weight gradient, whose m and n are exchanged. `group_matmul` has keys "ng=..,
/// M=.., N=.., K=.., stage=..": ng products of M rows each. `sdp_fwd` and `sdp_bwd` have keys "batch=..,
/// seq_len=.., head_num=.., qk_head_dim=..". A time is the shape's FLOPs over `tflops` x the efficiency.
/// FLOPs of attention exclude the causal half (4 b h s^2 d, and 2.5 times that backward), as in SimuMax.
/// Throws BadInput naming file and key.
SystemTables parse_simumax_system(const std::string& text, const std::string& file);

}  // namespace penstock::experiment
