#pragma once
// One order of operators for one network, however a file lists them.

#include "penstock/graph/op_graph.hpp"

namespace penstock::graph {

/// Returns the graph with its operators in canonical order. Planners cut rows of operators, so their answers
/// depend on the order of branches; the canonical order depends on edges, ties and names only.
///
/// The order is the post-order of a depth-first search from the outputs: an operator comes right after its
/// operands and after the owner of its parameters. Operands are visited in the order of its arguments. So a
/// branch stays together. Outputs come by name, with numbers by value ("layer2" before "layer10"); operands
/// too where their order is unknown (OpGraph::operands_ordered).
OpGraph canonical(OpGraph graph);

}  // namespace penstock::graph
