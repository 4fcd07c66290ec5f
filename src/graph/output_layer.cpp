#include <algorithm>

#include "penstock/graph/weight_tensors.hpp"

namespace penstock::graph {

bool is_output_layer(const OpGraph& graph, core::OpId id) {
  const auto readers = graph.dag().successors(static_cast<Vertex>(id.index()));
  return readers.begin() != readers.end() && std::all_of(readers.begin(), readers.end(), [&](Vertex reader) {
           const Operator& op = graph.op(core::OpId(static_cast<std::size_t>(reader)));
           return op.kind == OpKind::softmax && op.parameters == 0 && is_loss(op);
         });
}

}  // namespace penstock::graph
