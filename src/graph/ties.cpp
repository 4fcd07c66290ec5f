#include "penstock/graph/ties.hpp"

namespace penstock::graph {
namespace {

using core::OpId;

/// Numbers in its matrix; 0 of other kinds.
std::int64_t matrix(const Operator& op) {
  if (op.kind == OpKind::linear) return extent(op, "in") * extent(op, "out");
  return op.kind == OpKind::embedding ? extent(op, "rows") * extent(op, "width") : 0;
}

}  // namespace

OpId parameter_owner(const OpGraph& graph, OpId id) {
  const Operator& op = graph.op(id);
  if (op.parameters > 0 || op.weight_gradient_flops.value() == 0) return id;
  const std::int64_t size = matrix(op);
  for (std::size_t v = 0; size > 0 && v < id.index(); ++v)
    if (graph.op(OpId(v)).parameters > 0 && matrix(graph.op(OpId(v))) == size) return OpId(v);
  return id;
}

std::map<OpId, std::vector<OpId>> borrowed(const OpGraph& graph, std::span<const OpId> operators) {
  std::map<OpId, std::vector<OpId>> users;
  for (const OpId id : operators)
    if (const OpId owner = parameter_owner(graph, id); owner != id) users[owner].push_back(id);
  for (const OpId id : operators) users.erase(id);
  return users;
}

}  // namespace penstock::graph
