#pragma once
// A graph whose operators are others: a part of each, or executed otherwise.

#include <vector>

#include "penstock/graph/op_graph.hpp"

namespace penstock::graph {

/// Edges, name and order of operands of `graph` with one operator for each of its own, by id. Throws as
/// GraphBuilder::build.
OpGraph with_operators(const OpGraph& graph, std::vector<Operator> operators);

}  // namespace penstock::graph
