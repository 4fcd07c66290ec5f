#include "penstock/cost/host.hpp"

#include <algorithm>
#include <cmath>

namespace penstock::cost {
namespace {

/// Only whether a pass has kernels matters, not how many.
constexpr std::int64_t kAnyMatrices = 4;

/// Matrices of scores on one device.
std::int64_t matrices_of(const graph::Operator& op, std::int64_t samples, const OpShard& part) {
  return std::llround(static_cast<double>(as<graph::Attention>(op).heads) * part.part) * samples;
}

}  // namespace

OpTime launch_time(const graph::OpGraph& graph, core::OpId id, const cluster::DeviceType& device,
                   std::int64_t samples, const OpShard& part) {
  const core::Seconds each = device.host().per_kernel;
  if (each == core::Seconds(0)) return {};
  const LaunchCounts count = launches(graph, id, matrices_of(graph.op(id), samples, part), device.host());
  return {each * count.forward, each * count.input_gradient, each * count.weight_gradient};
}

core::Seconds core_launch_time(const graph::OpGraph& graph, core::OpId id, const cluster::DeviceType& device,
                               std::int64_t samples, const OpShard& part) {
  return device.host().per_kernel * core_launches(graph, id, matrices_of(graph.op(id), samples, part));
}

OpTime launched(const OpTime& device, const OpTime& host) {
  OpTime out = device;
  out.forward = std::max(device.forward, host.forward);
  const core::Seconds waits = host.backward() - device.backward();
  if (waits > core::Seconds(0)) {
    out.input_gradient += waits * (host.input_gradient / host.backward());
    out.weight_gradient += waits * (host.weight_gradient / host.backward());
  }
  return out;
}

OpTime handed_over(const graph::OpGraph& graph, core::OpId id, const cluster::DeviceType& device,
                   OpTime time) {
  const core::Seconds task = device.host().per_task;
  if (task == core::Seconds(0)) return time;
  const LaunchCounts count = launches(graph, id, kAnyMatrices);
  const bool first = count.input_gradient > 0, second = count.weight_gradient > 0;
  if (count.forward > 0) time.forward += task;
  // A backward pass is one task for both gradients.
  if (first) time.input_gradient += task * (second ? 0.5 : 1);
  if (second) time.weight_gradient += task * (first ? 0.5 : 1);
  return time;
}

}  // namespace penstock::cost
