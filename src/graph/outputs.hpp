#pragma once
// The tensors that operators make, from their attributes.

#include <vector>

#include "penstock/graph/op_graph.hpp"

namespace penstock::graph {

/// The output of every operator, by its attributes; of those without attributes one axis of output_bytes.
/// Functions and sums have the axes of their first operand where it has as many elements.
std::vector<Tensor> outputs(const OpGraph& graph);

}  // namespace penstock::graph
