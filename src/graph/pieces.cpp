#include "pieces.hpp"

#include <algorithm>
#include <numeric>

namespace penstock::graph {
namespace {

int count_labels(const std::vector<int>& labels) {
  return 1 + *std::max_element(labels.begin(), labels.end());
}

}  // namespace

GraphPiece whole_piece(const Dag& reduced, std::vector<double> weights) {
  GraphPiece piece{std::vector<Vertex>(reduced.size()), reduced, std::move(weights)};
  std::iota(piece.names.begin(), piece.names.end(), 0);
  return piece;
}

std::vector<GraphPiece> split(const GraphPiece& piece, const std::vector<int>& labels) {
  std::vector<GraphPiece> parts(static_cast<std::size_t>(count_labels(labels)));
  std::vector<std::vector<Edge>> edges(parts.size());
  std::vector<Vertex> place(labels.size());
  for (std::size_t v = 0; v < labels.size(); ++v) {
    GraphPiece& part = parts[labels[v]];
    place[v] = static_cast<Vertex>(part.names.size());
    part.names.push_back(piece.names[v]);
    part.weights.push_back(piece.weights[v]);
    for (Vertex p : piece.dag.predecessors(static_cast<Vertex>(v)))
      if (labels[p] == labels[v]) edges[labels[v]].emplace_back(place[p], place[v]);
  }
  for (std::size_t i = 0; i < parts.size(); ++i)
    parts[i].dag = Dag(parts[i].names.size(), std::move(edges[i]));
  return parts;
}

std::vector<int> component_labels(const Dag& dag) {
  std::vector<int> labels(dag.size(), -1);
  std::vector<Vertex> stack;
  int next = 0;
  for (Vertex root = 0; static_cast<std::size_t>(root) < dag.size(); ++root) {
    if (labels[root] >= 0) continue;
    labels[root] = next++;
    stack.push_back(root);
    while (!stack.empty()) {
      const Vertex v = stack.back();
      stack.pop_back();
      for (const auto& row : {dag.successors(v), dag.predecessors(v)})
        for (Vertex near : row) {
          if (labels[near] >= 0) continue;
          labels[near] = labels[root];
          stack.push_back(near);
        }
    }
  }
  return labels;
}

// Series parts are side by side in every topological order, so only cuts between v and v + 1 matter. Such a
// cut is a series cut when each maximum below it has an edge to each minimum above it. We count, per cut, the
// maxima, the minima and the edges among them; each of the three lives on a range of cuts, so differences are
// summed up.
std::vector<int> series_labels(const Dag& reduced) {
  const auto n = static_cast<Vertex>(reduced.size());
  std::vector<long long> maxima(reduced.size() + 1), minima(maxima), edges(maxima);
  const auto add = [](std::vector<long long>& counts, Vertex first_cut, Vertex past_cut) {
    if (first_cut >= past_cut) return;
    ++counts[first_cut];
    --counts[past_cut];
  };
  const auto last_before = [&](Vertex v) {
    return reduced.predecessors(v).empty() ? 0 : reduced.predecessors(v).back();
  };
  for (Vertex v = 0; v < n; ++v) {
    const auto after = reduced.successors(v);
    const Vertex first_after = after.empty() ? n : after.front();
    add(maxima, v, first_after);
    add(minima, last_before(v), v);
    for (Vertex w : after) add(edges, last_before(w), first_after);
  }
  for (auto* counts : {&maxima, &minima, &edges})
    std::partial_sum(counts->begin(), counts->end(), counts->begin());
  std::vector<int> labels(reduced.size());
  for (std::size_t v = 1; v < labels.size(); ++v)
    labels[v] = labels[v - 1] + (edges[v - 1] == maxima[v - 1] * minima[v - 1]);
  return labels;
}

PathLengths path_lengths(const Dag& dag, const std::vector<double>& weights) {
  PathLengths lengths{weights, weights};
  const auto n = static_cast<Vertex>(dag.size());
  for (Vertex v = 0; v < n; ++v)
    for (Vertex p : dag.predecessors(v)) lengths.to[v] = std::max(lengths.to[v], lengths.to[p] + weights[v]);
  for (Vertex v = n - 1; v >= 0; --v)
    for (Vertex s : dag.successors(v))
      lengths.from[v] = std::max(lengths.from[v], lengths.from[s] + weights[v]);
  return lengths;
}

}  // namespace penstock::graph
