#pragma once
// Operators that have no memory of their own for what they make.

#include <optional>

#include "penstock/graph/op_graph.hpp"

namespace penstock::graph {

/// Whether nobody but its readers needs the operator's output again: a layer without a function at its end,
/// or a norm, has its gradients without it.
bool hands_over(const Operator& op);

/// The producer whose tensor an operator's output lies on. It says with saved_bytes of zero that there is
/// one: of a view its source; of an activation its input; of a sum the latest term that nobody else reads and
/// whose maker hands it over. Frameworks free such a term when it has been added, for no gradient needs it.
std::optional<core::OpId> lies_on(const OpGraph& graph, core::OpId op);

}  // namespace penstock::graph
