#pragma once
// Memory over time, from the times of the tasks.

#include "build.hpp"
#include "engine.hpp"

namespace penstock::sim {

/// One entry per device of the cluster that serves a stage: fixed memory by kind, and what changes.
/// A micro-batch's activations live from the start of its forward to the end of its backward pass; received
/// tensors from the start of their first message until they become activations; received gradients from the
/// start of their first message to the end of the backward pass they feed. Where that leaves weight gradients
/// to a pass of their own, what these need besides lives in between, among the buffers.
std::vector<trace::DeviceTrace> device_memory(const cost::Problem& problem, const plan::Plan& plan,
                                              const Iteration& iteration, const Times& times);

}  // namespace penstock::sim
