#pragma once
// Operators that use the parameters of another one (the head of GPT-2 the token embedding's: Press and Wolf,
// EACL 2017).

#include <map>
#include <span>
#include <vector>

#include "penstock/graph/op_graph.hpp"

namespace penstock::graph {

/// Operators outside `operators` whose parameters those use, and which of those do, in the order given.
std::map<core::OpId, std::vector<core::OpId>> borrowed(const OpGraph& graph,
                                                       std::span<const core::OpId> operators);

}  // namespace penstock::graph
