#include "penstock/cost/calibration.hpp"

#include <fmt/format.h>

#include "penstock/core/spelling.hpp"

namespace penstock::cost {
namespace {

using cluster::Precision;
using graph::OpKind;

constexpr std::string_view kLinkNames[] = {"device_copy", "host_to_device", "device_to_host", "peer_copy",
                                           "all_reduce",  "all_gather",     "reduce_scatter", "broadcast"};
constexpr std::string_view kFoldNames[] = {"samples_inside", "samples_frontier", "shape_inside",
                                           "shape_frontier"};

double element_bytes(Precision precision) {
  return precision == Precision::bf16 || precision == Precision::fp16 ? 2 : 4;
}

}  // namespace

std::string_view name(LinkKind kind) {
  return kLinkNames[static_cast<std::size_t>(kind)];
}
LinkKind link_kind(std::string_view name) {
  return static_cast<LinkKind>(core::index_of(name, kLinkNames, "link"));
}

std::string_view name(FoldKind fold) {
  return kFoldNames[static_cast<std::size_t>(fold)];
}
FoldKind fold(std::string_view name) {
  return static_cast<FoldKind>(core::index_of(name, kFoldNames, "fold"));
}

graph::Shape kernel_shape(const graph::Attributes& attributes) {
  graph::Attributes out = attributes;
  if (auto* a = std::get_if<graph::Attention>(&out)) a->mask = graph::AttentionMask::none, a->reach = 0;
  return graph::shape_of(out);
}

KernelKey key_of(const graph::Operator& op, Precision precision) {
  return {op.kind, kernel_shape(op.attributes), precision};
}

KernelWork work_of(const graph::OpGraph& graph, core::OpId id, Precision precision) {
  const graph::Operator& op = graph.op(id);
  std::int64_t moved = op.output_bytes.value();
  for (graph::Vertex v : graph.dag().predecessors(static_cast<graph::Vertex>(id.index())))
    moved += graph.op(core::OpId(static_cast<std::size_t>(v))).output_bytes.value();
  moved += op.gathered_parameters * graph.element_bytes();
  const std::int64_t weights =
      op.gathered_parameters > 0 ? 0 : (op.parameters + op.frozen_parameters) * graph.element_bytes();
  const auto scaled = [&](std::int64_t bytes) {
    const double share = element_bytes(precision) / graph.element_bytes();
    return core::Bytes(static_cast<std::int64_t>(static_cast<double>(bytes) * share));
  };
  return {
      {op.forward_flops, op.input_gradient_flops, op.weight_gradient_flops}, scaled(moved), scaled(weights)};
}

bool has_pass(const graph::Operator& op, graph::Pass pass) {
  if (op.kind == OpKind::input || op.kind == OpKind::reshape) return false;
  if (pass == graph::Pass::forward) return true;
  if (pass == graph::Pass::weight_gradient) return graph::weighs(op);
  return op.input_gradient_flops.value() > 0 || !graph::weighs(op);
}

}  // namespace penstock::cost
