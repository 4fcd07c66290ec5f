#include "penstock/cost/host.hpp"

#include <algorithm>

namespace penstock::cost {
namespace {

using graph::OpKind;

/// Attention with its projections of query, key and value in one product. Kernel by kernel: product and bias,
/// three transpositions, scores, scale with mask, softmax, context, transposition, product and bias.
constexpr Launches kPlainAttention{12, 15, 4}, kFlashAttention{5, 6, 4};

/// Of one pass where the operator has it.
Launches kernels(const graph::Operator& op) {
  switch (op.kind) {
    case OpKind::input:
    case OpKind::reshape:
    case OpKind::profiled:
      return {};
    case OpKind::attention:
      return extent(op, "flash") > 0 ? kFlashAttention : kPlainAttention;
    case OpKind::linear:
    case OpKind::convolution:
      return {1, 1, extent(op, "bias") > 0 ? 2 : 1};
    case OpKind::matmul:
      return {1, 2, 0};
    case OpKind::concat:
      return {1, static_cast<int>(extent(op, "parts", 1)), 0};
    case OpKind::elementwise:
      return {static_cast<int>(extent(op, "terms", 2)) - 1, 0, 0};  // gradients are handed on as they are
    default:
      return {1, 1, 1};
  }
}

}  // namespace

Launches launches(const graph::OpGraph& graph, core::OpId id) {
  const graph::Operator& op = graph.op(id);
  Launches out = kernels(op);
  if (!graph.trains_above(id)) out.input_gradient = 0;
  if (!graph::weighs(op)) out.weight_gradient = 0;
  return out;
}

OpTime launch_time(const graph::OpGraph& graph, std::span<const core::OpId> operators,
                   const cluster::DeviceType& device) {
  OpTime sum;
  if (device.host_launch == core::Seconds(0)) return sum;
  for (const core::OpId op : operators) {
    const Launches count = launches(graph, op);
    sum.forward += device.host_launch * count.forward;
    sum.input_gradient += device.host_launch * count.input_gradient;
    sum.weight_gradient += device.host_launch * count.weight_gradient;
  }
  return sum;
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

}  // namespace penstock::cost
