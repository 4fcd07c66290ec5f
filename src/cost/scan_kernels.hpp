#pragma once
// Kernels of scans: linear attention and state spaces.

#include <vector>

#include "penstock/graph/attributes.hpp"

namespace penstock::cost {

/// One kernel, for one sample: products, FLOPs outside of products (fp32), and numbers read and written, of the
/// model's size and in fp32. A tensor counts once per kernel, however many heads read it.
struct ScanKernel {
  std::vector<graph::Matmul> products{};
  double vector_flops = 0;
  double numbers = 0, whole = 0;
};

struct ScanKernels {
  std::vector<ScanKernel> forward, backward;
};

/// Kernels as libraries launch them; backward ones compute again what is not kept. Their products sum up to
/// graph::scan_flops() forward. Backward without what is computed again: twice that, and for delta rules the
/// gradient of the triangle's inverse (two products c x c x c).
/// - delta rules: fla 0.6, ops/gated_delta_rule/chunk.py with common/chunk_delta_h.py, common/chunk_o.py and
///   wy_fast.py. channel_delta (ops/kda/chunk_fwd.py, chunk_bwd.py) has the same products, fused in another way;
///   its decays, a number in fp32 for each of a key, are read where the state or scores are.
/// - state_space: mamba_ssm 2.2, ops/triton/ssd_combined.py.
/// - selective: mamba_ssm's selective_scan, one kernel each way; the backward one repeats the forward one.
ScanKernels scan_kernels(const graph::LinearScan& scan);

/// Numbers that the backward pass holds beside its inputs and their gradients, for one sample: of the model's
/// size, and in fp32. Delta rules: both factors of the state's update, corrected values, states, and gradients
/// of all of these. State spaces: states and chunk scores, with their gradients.
struct ScanScratch {
  double numbers = 0, whole = 0;
};
ScanScratch scan_scratch(const graph::LinearScan& scan);

}  // namespace penstock::cost
