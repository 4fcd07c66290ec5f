#pragma once
// The host that launches a device's kernels: small ones wait for it.

#include "penstock/cost/cost_model.hpp"

namespace penstock::cost {

/// Kernels that an eager framework launches for each pass of an operator.
struct Launches {
  int forward = 0, input_gradient = 0, weight_gradient = 0;
};

/// Kernels as PyTorch and Megatron-LM launch them: one kernel per pass, and one more for a bias' gradient;
/// attention's projections, transpositions, scale with mask and softmax one by one, or as one fused core
/// (extent "flash"), and one each for queries and keys that are turned by their positions; a product's two
/// gradients; a concatenation's parts; a mixture's experts, two products each, and its choice, dispatch,
/// activation and combination; a batch's way from the data loader; a cross entropy over the vocabulary.
/// Megatron-LM fuses scale, mask and softmax of plain attention only for a multiple of four matrices of
/// scores: `matrices`, heads times samples on the device. Views launch none, nor do operators known through a
/// profile, whose times have the host in them.
Launches launches(const graph::OpGraph& graph, core::OpId op, std::int64_t matrices);

/// Whether the operator is the model's first input, where a batch comes from the data loader.
bool fetches_batch(const graph::OpGraph& graph, core::OpId op);

/// Kernels of attention's core in a forward pass: scores, scale with mask, softmax, context and its
/// transposition; one of a flash core.
int core_launches(const graph::OpGraph& graph, core::OpId op, std::int64_t matrices);

/// Seconds that the host takes to launch the passes of one device's part of an operator, over `samples` of
/// the whole group; zero where the device's runtime states no time per kernel.
OpTime launch_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                   std::int64_t samples, const OpShard& part);

/// Seconds that the host takes to launch the core's forward pass.
core::Seconds core_launch_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                               std::int64_t samples, const OpShard& part);

/// The host runs ahead of its device within an operator: a forward pass lasts as long as the slower of both,
/// and so does a backward pass; what a backward pass waits is divided as the host's time is. Measured
/// training runs agree better with this than with a host that runs ahead through a whole stage
/// (docs/published_runs.md).
OpTime launched(const OpTime& device, const OpTime& host);

/// `time` of an operator's passes and Runtime::per_task for each: a task-based runtime starts a pass when it
/// has heard that those before it are done, and a device idles meanwhile. A backward pass is one task; a pass
/// that launches no kernel is none.
OpTime handed_over(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                   OpTime time);

}  // namespace penstock::cost
