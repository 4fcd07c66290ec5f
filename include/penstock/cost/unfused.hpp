#pragma once
// Kernels that eager PyTorch runs one by one where Megatron-LM, Transformer Engine and torch.compile run one.

#include "penstock/cost/cost_model.hpp"
#include "penstock/cost/launches.hpp"

namespace penstock::cost {

/// Seconds of an operator's passes kernel by kernel, where `fused` are those of one kernel per pass. Norms by
/// root mean square and gated activations take longer, in proportion to the bytes that their kernels move.
/// Other operators do not change, nor do those that `runtime` fuses. Counted by hand from the operators of
/// torch 2.6 and transformers 5.24.
OpTime unfused(const graph::Operator& op, const OpTime& fused, const cluster::FrameworkRuntime& runtime);

/// Bytes per sample that such kernels save for the backward pass beyond those of the fused operator. These are
/// the input of a norm in fp32, queries and keys before their norms in fp32, and the activated gate. Counted by
/// torch 2.15's saved-tensor hooks over layers of transformers 5.24 (tools/framework_checks/torch_saved.py).
core::Bytes unfused_saved(const graph::Operator& op, int element_bytes,
                          const cluster::FrameworkRuntime& runtime);

/// Kernels in addition to those of the fused operator.
LaunchCounts unfused_launches(const graph::Operator& op, const cluster::FrameworkRuntime& runtime);

}  // namespace penstock::cost
