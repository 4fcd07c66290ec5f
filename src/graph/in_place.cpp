#include "penstock/graph/in_place.hpp"

namespace penstock::graph {

bool hands_over(const Operator& op) {
  const bool layer = op.kind == OpKind::linear || op.kind == OpKind::convolution ||
                     op.kind == OpKind::attention || op.kind == OpKind::embedding ||
                     op.kind == OpKind::norm || op.kind == OpKind::experts;
  return layer && as<Linear>(op).function == Function::none;
}

bool follows_from_output(Function function) {
  return function == Function::relu || function == Function::sigmoid || function == Function::tanh;
}

std::optional<core::OpId> lies_on(const OpGraph& graph, core::OpId id) {
  const Operator& op = graph.op(id);
  const auto sources = graph.dag().predecessors(static_cast<Vertex>(id.index()));
  if (op.saved_bytes.value() > 0 || sources.empty()) return {};
  const auto number = [](Vertex v) { return core::OpId(static_cast<std::size_t>(v)); };
  if (op.kind != OpKind::elementwise) return number(sources.front());
  for (auto v = sources.rbegin(); v != sources.rend(); ++v)
    if (graph.dag().successors(*v).size() == 1 && hands_over(graph.op(number(*v)))) return number(*v);
  return {};
}

}  // namespace penstock::graph
