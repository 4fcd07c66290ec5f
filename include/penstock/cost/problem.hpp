#pragma once
// Everything that a planner gets.

#include "penstock/cost/cost_model.hpp"
#include "penstock/cost/stage_load.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::cost {

class StageMemo;

/// References outlive the problem; all are immutable.
struct Problem {
  const graph::OpGraph& graph;
  const cluster::Cluster& cluster;
  const CostModel& costs;
  plan::Training training;
  MemoryRule memory{};
  StageMemo* memo = nullptr;  ///< of a search; none: nothing is remembered (cost/stage_memo.hpp)
};

/// Bytes per sample that an operator saves for the backward pass, with the kernels of the framework that runs
/// the cluster's devices.
core::Bytes saved_bytes(const Problem& problem, const graph::Operator& op);

/// Memory of the framework that runs the cluster's devices; of several, what any of them holds.
cluster::FrameworkMemory framework_memory(const Problem& problem);
/// Experts of a mixture that sharding keeps whole; 0: none (FrameworkMemory::shards_whole_experts).
std::int64_t whole_experts(const cluster::FrameworkMemory& framework, const graph::Operator& op);

/// Sums over whole operators; `activations` are those of the framework. `released` is that of the loss; what
/// else the framework releases is in the load of a stage (sharding.hpp).
StageLoad stage_load(const Problem& problem, std::span<const core::OpId> operators);

/// Seconds of one device's part of an operator, `samples` of the whole group, on a device of type `device`,
/// as its kernels take them (DeviceType::kernel_slowdown).
OpTime kernel_time(const Problem& problem, core::OpId op, const cluster::DeviceType& device,
                   std::int64_t samples, const OpShard& part = {});
/// Seconds of the same where the device's host launches the kernels (cost/host.hpp).
OpTime operator_time(const Problem& problem, core::OpId op, const cluster::DeviceType& device,
                     std::int64_t samples, const OpShard& part = {});
/// Seconds of only attention's core, the forward pass (graph::has_core); a task of its own.
core::Seconds core_forward(const Problem& problem, core::OpId op, const cluster::DeviceType& device,
                           std::int64_t samples, const OpShard& part = {});
/// The optimizer's update of so many bytes of weights.
core::Seconds update_time(const Problem& problem, core::Bytes weights, const cluster::DeviceType& device);
/// The sum over a set of whole operators.
OpTime compute_time(const Problem& problem, std::span<const core::OpId> operators,
                    const cluster::DeviceType& device, std::int64_t samples);

}  // namespace penstock::cost
