#include "frozen_weights.hpp"

#include <algorithm>
#include <vector>

#include "penstock/graph/adapters.hpp"

namespace penstock::cost {

int widened_matrices(const graph::Operator& op) {
  if (op.frozen_format == graph::FrozenFormat::stored || op.products != graph::ProductFormat::stored)
    return 0;
  return std::max(1, static_cast<int>(graph::adapter_shapes(op).size()));
}

double widening_bytes(const graph::OpGraph& graph, core::OpId id) {
  const graph::Operator& op = graph.op(id);
  return static_cast<double>(graph.frozen_bytes(id).value() + op.frozen_parameters * graph.element_bytes());
}

core::Bytes widened_bytes(const graph::OpGraph& graph, core::OpId id) {
  const graph::Operator& op = graph.op(id);
  if (widened_matrices(op) == 0) return {};
  std::int64_t most = 0;
  for (const graph::AdapterShape& a : graph::adapter_shapes(op)) most = std::max(most, a.in * a.out);
  if (const auto& e = as<graph::Experts>(op); op.kind == graph::OpKind::experts)
    most = e.hidden * e.inner * (e.gated ? 2 : 1);
  return core::Bytes(most * graph.element_bytes());
}

}  // namespace penstock::cost
