#pragma once
// The partial order behind a Dag: u comes before w when a path leads from u to w.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "penstock/graph/dag.hpp"

namespace penstock::graph {

/// Graph of the same order with the fewest edges: drops each edge that a longer path replaces. One search per
/// vertex with several successors, bounded by the labels of Yildirim, Chaoji, Zaki, "GRAIL", VLDB 2010.
/// Differs in that there are two labels only, and that they bound one search for all successors.
Dag transitive_reduction(const Dag& dag);

/// No path leaves the set and comes back: the set can run as one stage without waiting for itself.
bool is_convex(const Dag& dag, std::span<const Vertex> set);

/// The flags of one downset, per vertex; the visitor returns false to stop.
using DownsetVisitor = std::function<bool(const std::vector<bool>& downset)>;

/// Visits every set closed under predecessors, the empty and the full one included, in lexicographic order.
/// Returns how many were visited, at most `limit`.
std::size_t for_each_downset(const Dag& dag, const DownsetVisitor& visit,
                             std::size_t limit = std::numeric_limits<std::size_t>::max());

/// Number of pairs of downsets of which one contains the other, or equals it. These are the ways to label
/// vertices 0, 1 and 2 so that none has less than its predecessors. Counted vertex by vertex, by the labels
/// of those that have successors to come; nothing where these have more than `most` ways to be labelled at a
/// time. At most the largest number that there is.
std::optional<std::uint64_t> count_nested_downsets(const Dag& dag, std::size_t most);

struct CriticalPath {
  double length = 0;             ///< sum of the weights along the path
  std::vector<Vertex> vertices;  ///< from first to last; the smallest numbers where paths tie
};

/// The heaviest path. `weights` holds a non-negative number per vertex.
CriticalPath critical_path(const Dag& dag, std::span<const double> weights);

}  // namespace penstock::graph
