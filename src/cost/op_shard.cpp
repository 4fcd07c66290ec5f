#include "penstock/cost/op_shard.hpp"

#include <algorithm>
#include <cmath>

namespace penstock::cost {
namespace {

using graph::OpKind;

/// The extents that a part has less of.
std::vector<std::string_view> divided_extents(const graph::Operator& op, plan::Partition how) {
  switch (op.kind) {
    case OpKind::linear:
    case OpKind::convolution:
      return {how == plan::Partition::row ? "in" : "out"};
    case OpKind::attention:
      if (extent(op, "kv_heads") > 0) return {"hidden", "heads", "kv_heads"};
      return {"hidden", "heads"};
    case OpKind::embedding:
      return {"rows"};
    case OpKind::activation:
    case OpKind::elementwise:
      return {"elements"};
    default:
      return {};
  }
}

core::Bytes scaled(core::Bytes bytes, double share) {
  return core::Bytes(static_cast<std::int64_t>(static_cast<double>(bytes.value()) * share));
}

}  // namespace

std::optional<Shape> divided_shape(const graph::Operator& op, const OpShard& part) {
  const auto names = divided_extents(op, part.partition);
  Shape shape = op.shape;
  std::size_t found = 0;
  for (auto& [extent, value] : shape)
    if (std::find(names.begin(), names.end(), extent) != names.end()) {
      value = std::max<std::int64_t>(1, std::llround(static_cast<double>(value) * part.part));
      ++found;
    }
  return !names.empty() && found == names.size() ? std::optional(shape) : std::nullopt;
}

Work shard_work(const graph::OpGraph& graph, core::OpId id, cluster::Precision precision,
                const OpShard& part) {
  Work work = work_of(graph, id, precision);
  if (part.partition == plan::Partition::whole) return work;
  const graph::Operator& op = graph.op(id);
  double read = 0;
  for (graph::Vertex v : graph.dag().predecessors(static_cast<graph::Vertex>(id.index())))
    read += static_cast<double>(graph.op(core::OpId(static_cast<std::size_t>(v))).output_bytes.value());
  const double written = static_cast<double>(op.output_bytes.value());
  const double gathered = static_cast<double>(op.gathered_parameters * graph.element_bytes());
  const double whole = read + written + gathered;
  const double kept = read * (part.whole_input ? 1 : part.part) +
                      written * (part.whole_output ? 1 : part.part) + gathered * part.part;
  for (core::Flops& flops : work.flops) flops = flops * part.part;
  if (whole > 0) work.moved = scaled(work.moved, kept / whole);
  work.weights = scaled(work.weights, part.part);
  return work;
}

}  // namespace penstock::cost
