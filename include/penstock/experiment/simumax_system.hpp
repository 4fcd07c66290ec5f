#pragma once
// SimuMax's machine descriptions (MooreThreads/SimuMax, configs/system/*.json): measured efficiencies by
// exact shape.

#include <string>

#include "penstock/cost/kernel_tables.hpp"

namespace penstock::experiment {

struct SystemTables {
  cost::TableCosts costs;  ///< the device is called as the system is: "b200_bf16"
  std::size_t left_out =
      0;  ///< shapes of batched products, and of attention whose values are not as wide as its keys
};

/// Reads `accelerator.op`: `matmul` by "b=1, m=.., k=.., n=.., layout=..": TN is a forward product, NN an
/// input gradient, NT a weight gradient, whose m and n are the other way round; `group_matmul` by
/// "ng=.., M=.., N=.., K=.., stage=..": ng products of M rows each together; `sdp_fwd` and `sdp_bwd` by
/// "batch=.., seq_len=.., head_num=.., qk_head_dim=..". A time is the shape's FLOPs over `tflops` x the
/// efficiency, those of attention counted without the causal half (4 b h s^2 d, and 2.5 times that backward),
/// as SimuMax counts. Throws BadInput naming file and key.
SystemTables parse_simumax_system(const std::string& text, const std::string& file);

}  // namespace penstock::experiment
