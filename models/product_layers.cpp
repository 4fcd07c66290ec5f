#include "models/product_layers.hpp"

#include <algorithm>

namespace penstock::models {
namespace {

using core::OpId;
using graph::Operator;
using graph::OpKind;

/// True for a dense layer that makes logits: a loss reads it, or nothing does.
bool is_head(const graph::OpGraph& graph, OpId id) {
  const auto readers = graph.dag().successors(static_cast<graph::Vertex>(id.index()));
  return std::ranges::all_of(readers, [&](graph::Vertex v) {
    const OpId reader(static_cast<std::size_t>(v));
    const Operator& op = graph.op(reader);
    return graph::is_loss(op) || (op.kind == OpKind::reshape && is_head(graph, reader));
  });
}

/// [operator] true from a dense layer to the probabilities by which experts choose rows.
std::vector<bool> routers(const graph::OpGraph& graph) {
  std::vector<bool> out(graph.size());
  for (std::size_t v = graph.size(); v-- > 0;) {
    const OpId id(v);
    const auto& operands = graph.operands(id);
    if (graph.op(id).kind == OpKind::experts && operands.size() > 1) out[operands[1].index()] = true;
    if (out[v] && graph.op(id).kind != OpKind::linear)
      for (const OpId operand : operands) out[operand.index()] = true;
  }
  return out;
}

}  // namespace

std::vector<bool> product_layers(const graph::OpGraph& graph) {
  const std::vector<bool> choosing = routers(graph);
  std::vector<bool> out(graph.size());
  for (std::size_t v = 0; v < graph.size(); ++v) {
    const OpKind kind = graph.op(OpId(v)).kind;
    out[v] = kind == OpKind::linear ? !choosing[v] && !is_head(graph, OpId(v))
                                    : kind == OpKind::attention || kind == OpKind::experts;
  }
  return out;
}

}  // namespace penstock::models
