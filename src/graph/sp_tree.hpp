#pragma once
// Building trees in any shape and tidying them at the end. Inside the room only.

#include <span>

#include "penstock/graph/series_parallel.hpp"

namespace penstock::graph {

/// Appends an inner node over the given ones and returns its number. Parents may come after children here.
int append_node(SpTree& tree, SpTree::NodeKind kind, std::span<const int> children);

/// The canonical form `decompose` promises: merges a node into a parent of its kind, orders parallel children
/// by smallest vertex, renumbers so that parents come before children. A node over one child vanishes.
SpTree tidied(const SpTree& rough);

}  // namespace penstock::graph
