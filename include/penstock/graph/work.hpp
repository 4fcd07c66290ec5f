#pragma once
// How much there is to train: floating-point operations and tokens of a sample.

#include <cstdint>
#include <optional>

#include "penstock/graph/op_graph.hpp"

namespace penstock::graph {

/// FLOPs of an operator for one sample, forward and backward, without recomputation and without pairs that
/// attention's mask hides. This is Megatron-LM's convention (megatron/training/training.py,
/// num_floating_point_operations): half of a causal core counts, even if its kernels compute all of it.
core::Flops model_flops(const Operator& op);

/// Sum of model_flops() over the graph: the "model FLOPs" of Chowdhery et al., PaLM, 2022, appendix B.
/// Differs: they are the sum over the graph's operators, not 6 N + 12 L H Q T per token, and in the mask.
/// Zero for graphs that come from a profile only.
core::Flops training_flops(const OpGraph& graph);

/// Tokens of a sample: the queries of every attention that has no other attention before it. Whole operators
/// and matrix products under a softmax count equally. So the sequences of an encoder and a decoder, or of
/// branches side by side, add up. Without attention the tokens of the longest scan. Nothing where there is
/// neither.
std::optional<std::int64_t> tokens(const OpGraph& graph);

}  // namespace penstock::graph
