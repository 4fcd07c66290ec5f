#pragma once
// Operators that have no memory of their own for what they make.

#include <optional>

#include "penstock/graph/op_graph.hpp"

namespace penstock::graph {

/// True if only its readers need the operator's output again: a layer without a function at its end, or a
/// norm, has its gradients without it.
bool hands_over(const Operator& op);

/// True if a function's gradient follows from its output, so that it may write over its input.
bool follows_from_output(Function function);

/// The producer whose memory an operator's output shares. An operator with saved_bytes of zero has one. A
/// view has its source, an activation its input. A sum has the latest term that has no other reader and whose
/// producer does not need it (hands_over). Frameworks free such a term when it has been added, for no
/// gradient needs it.
std::optional<core::OpId> lies_on(const OpGraph& graph, core::OpId op);

}  // namespace penstock::graph
