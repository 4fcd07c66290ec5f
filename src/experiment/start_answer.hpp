#pragma once
// A planner's answer for `joint`, as text.

#include <exception>
#include <string>

#include "penstock/graph/op_graph.hpp"
#include "penstock/planners/planner.hpp"

namespace penstock::experiment {

/// JSON: the plan in its file form, states, the planner's estimate, and whether the search was complete.
std::string to_text(const graph::OpGraph& graph, const planners::SearchResult& found);
/// JSON: the error's exit code and message.
std::string to_text(const core::Error& error);

/// Parses either: returns the result, without its bottleneck, or throws the error. Throws BadInput for other
/// text.
planners::SearchResult answered(const graph::OpGraph& graph, const std::string& text);

}  // namespace penstock::experiment
