#pragma once
// The host that launches a device's kernels: small ones wait for it.

#include <span>

#include "penstock/cost/cost_model.hpp"

namespace penstock::cost {

/// Kernels that an eager framework launches for each pass of an operator.
struct Launches {
  int forward = 0, input_gradient = 0, weight_gradient = 0;
};

/// As PyTorch and Megatron-LM launch them: one kernel per pass, and one more for a bias' gradient;
/// attention's projections, transpositions, scale with mask and softmax one by one, or as one fused core
/// (extent "flash"); a product's two gradients; a concatenation's parts. Views and tensors from outside
/// launch none, nor do operators known through a profile, whose times have the host in them.
Launches launches(const graph::OpGraph& graph, core::OpId op);

/// Seconds that the host takes to launch all passes of these operators; zero where the device type does not
/// state its DeviceType::host_launch.
OpTime launch_time(const graph::OpGraph& graph, std::span<const core::OpId> operators,
                   const cluster::DeviceType& device);

/// The host runs ahead of its device, so a forward pass lasts as long as the slower of both, and so does a
/// backward pass; what a backward pass waits is divided as the host's time is.
OpTime launched(const OpTime& device, const OpTime& host);

}  // namespace penstock::cost
