#pragma once
// Series-parallel structure: is an order built from single vertices by only "then" and "beside"?

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "penstock/graph/dag.hpp"

namespace penstock::graph {

/// An n-ary tree over the vertices. `series`: every vertex of a child precedes all of the next child.
/// `parallel`: no order between children.
struct SpTree {
  enum class NodeKind : std::uint8_t { leaf, series, parallel };
  struct TreeNode {
    NodeKind kind = NodeKind::leaf;
    Vertex vertex = -1;   ///< of a leaf
    int first_child = 0;  ///< index into `children`
    int child_count = 0;  ///< 0 for a leaf, else at least 2
  };
  std::vector<TreeNode> nodes;  ///< parents come before their children
  std::vector<int> children;    ///< node numbers, the children of one node side by side
  int root = 0;

  const TreeNode& node(int i) const { return nodes[static_cast<std::size_t>(i)]; }
  std::span<const int> children_of(int i) const {
    return {children.data() + node(i).first_child, static_cast<std::size_t>(node(i).child_count)};
  }
  /// The vertices below a node, depth first, left to right.
  std::vector<Vertex> leaves(int i) const;
};

/// The tree of the order the graph means, transitive edges aside; nothing when the order is not
/// series-parallel. Kinds alternate from level to level; series children are in order, parallel children by
/// their smallest vertex. Several sources and sinks are welcome. Throws an internal error for an empty graph.
///
/// Valdes, Tarjan, Lawler, "The Recognition of Series Parallel Digraphs", SIAM J. Comput. 11(2), 1982:
/// reduction, inverse line graph, then series and parallel contractions from a worklist. Differs in that the
/// reduction is searched for instead of derived from their pseudo-reduction, and in that the binary tree is
/// flattened.
std::optional<SpTree> decompose(const Dag& dag);

/// The order a tree means, as edges between neighbours only (no transitive ones), sorted.
std::vector<Edge> covering_edges(const SpTree& tree);

/// The heaviest chain: the sum over series children, the largest of parallel ones.
double critical_length(const SpTree& tree, std::span<const double> weights);

}  // namespace penstock::graph
