#include "models/frozen.hpp"

#include <algorithm>
#include <vector>

#include "penstock/graph/graph_builder.hpp"
#include "penstock/graph/in_place.hpp"

namespace penstock::models {
namespace {

using core::OpId;
using graph::Operator;
using graph::OpKind;

/// True if an operator's own gradients read the values of its inputs.
bool reads_inputs(const graph::OpGraph& graph, OpId id) {
  const Operator& op = graph.op(id);
  if (!graph.trains(id)) return false;
  switch (op.kind) {
    case OpKind::linear:
    case OpKind::convolution:
    case OpKind::embedding:
    case OpKind::attention:  // keeps its projections
      return graph::weighs(op);
    case OpKind::elementwise:
      return as<graph::Elementwise>(op).product;
    case OpKind::concat:
    case OpKind::softmax:  // the gradient reads the output
    case OpKind::input:
      return false;
    default:
      return true;
  }
}

/// True if an operator's own gradient reads its output.
bool reads_output(const Operator& op) {
  return op.kind == OpKind::softmax || op.kind == OpKind::attention || op.kind == OpKind::pool ||
         (op.kind == OpKind::linear && as<graph::Linear>(op).function != graph::Function::none);
}

/// [operator] true if a reader's gradient needs the operator's output. Views and operators that work in place
/// pass the need on to the input whose memory they share.
std::vector<bool> needed(const graph::OpGraph& graph) {
  std::vector<bool> out(graph.size());
  for (std::size_t v = graph.size(); v-- > 0;)
    for (const graph::Vertex reader : graph.dag().successors(static_cast<graph::Vertex>(v))) {
      const OpId id(static_cast<std::size_t>(reader));
      const bool view = graph::lies_on(graph, id) == OpId(v) || graph.op(id).kind == OpKind::reshape;
      if (view ? out[id.index()] || reads_inputs(graph, id) : reads_inputs(graph, id)) out[v] = true;
    }
  return out;
}

core::Bytes saved(const graph::OpGraph& graph, OpId id, bool needed) {
  const Operator& op = graph.op(id);
  const core::Bytes output = std::min(op.output_bytes, op.saved_bytes);
  if (!graph.trains(id)) return needed ? output : core::Bytes(0);
  return needed || reads_output(op) ? op.saved_bytes : op.saved_bytes - output;
}

}  // namespace

graph::OpGraph without_unread(const graph::OpGraph& graph) {
  const std::vector<bool> read = needed(graph);
  graph::GraphBuilder out(graph.name(), graph.element_bytes());
  for (std::size_t v = 0; v < graph.size(); ++v) {
    Operator op = graph.op(OpId(v));
    op.saved_bytes = saved(graph, OpId(v), read[v]);
    out.add(std::move(op), graph.operands(OpId(v)));
  }
  return out.build();
}

}  // namespace penstock::models
