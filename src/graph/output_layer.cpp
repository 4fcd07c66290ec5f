#include <algorithm>

#include "penstock/graph/weight_tensors.hpp"

namespace penstock::graph {
namespace {

/// True for the softmax of a loss, or of a model that ends with it; a router's is read by experts.
bool ends_model(const OpGraph& graph, core::OpId id) {
  const auto readers = graph.dag().successors(static_cast<Vertex>(id.index()));
  return is_loss(graph.op(id)) || (graph.op(id).kind == OpKind::softmax && readers.begin() == readers.end());
}

}  // namespace

bool is_output_layer(const OpGraph& graph, core::OpId id) {
  const auto readers = graph.dag().successors(static_cast<Vertex>(id.index()));
  return std::all_of(readers.begin(), readers.end(), [&](Vertex reader) {
    return ends_model(graph, core::OpId(static_cast<std::size_t>(reader)));
  });
}

}  // namespace penstock::graph
