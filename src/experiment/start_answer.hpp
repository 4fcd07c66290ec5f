#pragma once
// What a planner answered when `joint` asked it, as text.

#include <exception>
#include <string>

#include "penstock/graph/op_graph.hpp"
#include "penstock/planners/planner.hpp"

namespace penstock::experiment {

/// JSON: the plan as its file form, states, what the planner foretells, whether the search was complete.
std::string to_text(const graph::OpGraph& graph, const planners::SearchResult& found);
/// JSON: the error's exit code and words.
std::string to_text(const core::Error& error);

/// Reads either: returns the result, without its bottleneck, or throws the error. Throws BadInput
/// for other text.
planners::SearchResult answered(const graph::OpGraph& graph, const std::string& text);

}  // namespace penstock::experiment
