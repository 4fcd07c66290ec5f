#pragma once
// Operators that use the parameters of another one.

#include <map>
#include <span>
#include <vector>

#include "penstock/graph/op_graph.hpp"

namespace penstock::graph {

/// Whose parameters `op` uses: `op` itself, or the operator it is tied to. A graph says so by what it leaves
/// out: a dense layer or table that has work for a weight gradient, but no parameters, uses those of the
/// first dense layer or table before it whose matrix has its size (the head of GPT-2 the token embedding's:
/// Press and Wolf, EACL 2017).
core::OpId parameter_owner(const OpGraph& graph, core::OpId op);

/// Operators outside `operators` whose parameters those use, and which of those do, in the order given.
std::map<core::OpId, std::vector<core::OpId>> borrowed(const OpGraph& graph,
                                                       std::span<const core::OpId> operators);

}  // namespace penstock::graph
