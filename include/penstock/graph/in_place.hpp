#pragma once
// Operators that have no memory of their own for what they make.

#include <optional>

#include "penstock/graph/op_graph.hpp"

namespace penstock::graph {

/// Whether nobody but its readers needs the operator's output again: a layer without a function at its end,
/// or a norm, has its gradients without it.
bool hands_over(const Operator& op);

/// Whether a function's gradient follows from its output, so that it may write over its input.
bool follows_from_output(Function function);

/// The producer whose memory an operator's output shares. An operator with saved_bytes of zero has one: of a
/// view its source; of an activation its input; of a sum the latest term that nobody else reads and whose
/// producer does not need it (hands_over). Frameworks free such a term when it has been added, for no
/// gradient needs it.
std::optional<core::OpId> lies_on(const OpGraph& graph, core::OpId op);

}  // namespace penstock::graph
