#pragma once
// How many kernels a framework launches for an operator.

#include "penstock/cluster/runtime.hpp"
#include "penstock/graph/op_graph.hpp"

namespace penstock::cost {

/// Kernels that an eager framework launches for each pass of an operator.
struct Launches {
  int forward = 0, input_gradient = 0, weight_gradient = 0;
};

/// Kernels as PyTorch and Megatron-LM launch them. One kernel per pass, and one more for a bias' gradient.
/// Attention's projections, transpositions, scale with mask and softmax one by one, or as one fused core
/// (extent "flash"). One each for queries and keys that are turned by their positions. A product's two
/// gradients; a concatenation's parts. A mixture's two products of all experts (Transformer Engine's
/// GroupedLinear), and its choice, dispatch, activation and combination. A scan's kernels (fla, mamba_ssm), and
/// one each way for a short convolution (causal_conv1d). A batch's way from the data loader;
/// a cross entropy over the vocabulary. Kernels that `runtime` does not fuse as in unfused.hpp. Megatron-LM fuses scale, mask and
/// softmax of plain attention only for a multiple of four matrices of scores: `matrices`, heads times samples
/// on the device. Views launch none, nor do operators known through a profile, whose times have the host in
/// them.
Launches launches(const graph::OpGraph& graph, core::OpId op, std::int64_t matrices,
                  const cluster::Runtime& runtime = {});

/// True if the operator is the model's first input, where a batch comes from the data loader.
bool fetches_batch(const graph::OpGraph& graph, core::OpId op);

/// Kernels of attention's core in a forward pass: scores, scale with mask, softmax, context and its
/// transposition; one of a flash core.
int core_launches(const graph::OpGraph& graph, core::OpId op, std::int64_t matrices);

}  // namespace penstock::cost
