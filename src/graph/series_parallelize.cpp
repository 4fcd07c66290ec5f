#include "penstock/graph/series_parallelize.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <tuple>

#include "estimated_cut.hpp"
#include "exact_cut.hpp"
#include "penstock/core/error.hpp"
#include "penstock/graph/order.hpp"
#include "sp_tree.hpp"

namespace penstock::graph {
namespace {

using NodeKind = SpTree::NodeKind;

SpTree build_tree(GraphPiece whole, const CutSearch& search, core::StopToken stop);

/// Tries estimated cuts to the end, without further trials below, and takes the shortest.
std::vector<int> tried_cut(const GraphPiece& piece, int trials, core::StopToken stop) {
  std::vector<int> best;
  double best_length = std::numeric_limits<double>::infinity();
  for (auto& labels : estimated_cuts(piece, trials)) {
    double length = 0;
    for (GraphPiece& part : split(piece, labels)) {
      const std::vector<double> weights = part.weights;
      std::iota(part.names.begin(), part.names.end(), 0);
      length += critical_length(build_tree(std::move(part), {0, 0}, stop), weights);
    }
    if (length >= best_length) continue;
    best_length = length;
    best = std::move(labels);
  }
  return best;
}

std::vector<int> choose_cut(const GraphPiece& piece, const CutSearch& search, core::StopToken stop) {
  if (auto exact = exact_cut(piece, search.exact_cuts)) return *exact;
  if (search.trials > 0) return tried_cut(piece, search.trials, stop);
  return estimated_cuts(piece, 1).front();
}

bool splits(const std::vector<int>& labels) {
  return std::ranges::any_of(labels, [](int label) { return label > 0; });
}

/// A tree in the making: nodes are numbered before their pieces are taken apart, so depth costs no stack.
class TreeBuilder {
 public:
  TreeBuilder(GraphPiece whole, const CutSearch& search, core::StopToken stop)
      : search_(search), stop_(stop) {
    add(std::move(whole));
  }

  SpTree run() {
    while (!open_.empty()) {
      auto [node, piece] = std::move(open_.back());
      open_.pop_back();
      take_apart(node, piece);
    }
    return std::move(tree_);
  }

 private:
  int add(GraphPiece piece) {
    const auto node = static_cast<int>(tree_.nodes.size());
    tree_.nodes.push_back({NodeKind::leaf, piece.names.front(), 0, 0});
    if (piece.names.size() > 1) open_.emplace_back(node, std::move(piece));
    return node;
  }

  void take_apart(int node, const GraphPiece& piece) {
    stop_.check();
    std::vector<int> labels = component_labels(piece.dag);
    const NodeKind kind = splits(labels) ? NodeKind::parallel : NodeKind::series;
    if (!splits(labels)) labels = series_labels(piece.dag);
    if (!splits(labels)) labels = choose_cut(piece, search_, stop_);
    std::vector<int> below;
    for (GraphPiece& part : split(piece, labels)) below.push_back(add(std::move(part)));
    tree_.nodes[node] = {kind, -1, static_cast<int>(tree_.children.size()), static_cast<int>(below.size())};
    tree_.children.insert(tree_.children.end(), below.begin(), below.end());
  }

  CutSearch search_;
  core::StopToken stop_;
  SpTree tree_;
  std::vector<std::pair<int, GraphPiece>> open_;  ///< nodes still drawn as leaves, and their pieces
};

SpTree build_tree(GraphPiece whole, const CutSearch& search, core::StopToken stop) {
  return TreeBuilder(std::move(whole), search, stop).run();
}

/// Sets `added`, `order` and `dag` once the tree is complete. An edge of the tree joins vertices with nothing
/// between them. So where the original order has the pair, the original graph has the edge.
void add_order(const Dag& dag, SpResult& result) {
  std::vector<Edge> edges = dag.edges();
  std::ranges::set_difference(covering_edges(result.tree), edges, std::back_inserter(result.added));
  edges.insert(edges.end(), result.added.begin(), result.added.end());
  result.order = result.tree.leaves(result.tree.root);
  std::vector<Vertex> place(dag.size());
  for (std::size_t i = 0; i < place.size(); ++i) place[result.order[i]] = static_cast<Vertex>(i);
  for (auto& [from, to] : edges) std::tie(from, to) = std::make_pair(place[from], place[to]);
  result.dag = Dag(dag.size(), std::move(edges));
}

}  // namespace

SpResult make_series_parallel(const Dag& dag, std::span<const double> weights, const CutSearch& search,
                              core::StopToken stop) {
  core::require(weights.size() == dag.size(), "one weight per vertex");
  for (double weight : weights)
    core::require(weight >= 0 && std::isfinite(weight), "weights are finite, not negative");
  SpResult result;
  result.critical_path_before = result.critical_path_after = critical_path(dag, weights).length;
  if (auto tree = decompose(dag)) {
    result.tree = std::move(*tree);
    result.dag = dag;
    result.order.resize(dag.size());
    std::iota(result.order.begin(), result.order.end(), 0);
    return result;
  }
  GraphPiece whole = whole_piece(transitive_reduction(dag), {weights.begin(), weights.end()});
  result.tree = tidied(build_tree(std::move(whole), search, stop));
  result.critical_path_after = critical_length(result.tree, weights);
  add_order(dag, result);
  return result;
}

}  // namespace penstock::graph
