#include "penstock/graph/dag.hpp"

#include <algorithm>

#include "penstock/core/error.hpp"

namespace penstock::graph {
namespace {

/// Start offsets of each row, given how many entries each row has (counts[v + 1]).
void prefix_sum(std::vector<std::uint32_t>& counts) {
  for (std::size_t v = 1; v < counts.size(); ++v) counts[v] += counts[v - 1];
}

}  // namespace

Dag::Dag(std::size_t size, std::vector<Edge> edges)
    : size_(size), successor_start_(size + 1), predecessor_start_(size + 1) {
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  for (const auto& [from, to] : edges) {
    core::require(0 <= from && from < to && static_cast<std::size_t>(to) < size, "edges lead upwards");
    ++successor_start_[static_cast<std::size_t>(from) + 1];
    ++predecessor_start_[static_cast<std::size_t>(to) + 1];
  }
  prefix_sum(successor_start_);
  prefix_sum(predecessor_start_);
  targets_.reserve(edges.size());
  for (const Edge& edge : edges) targets_.push_back(edge.second);
  sources_.resize(edges.size());
  auto next = predecessor_start_;  // edges come sorted by source, so each row fills in order
  for (const auto& [from, to] : edges) sources_[next[static_cast<std::size_t>(to)]++] = from;
}

bool Dag::has_edge(Vertex from, Vertex to) const {
  const auto row = successors(from);
  return std::binary_search(row.begin(), row.end(), to);
}

std::vector<Edge> Dag::edges() const {
  std::vector<Edge> out;
  out.reserve(edge_count());
  for (Vertex v = 0; static_cast<std::size_t>(v) < size_; ++v)
    for (Vertex to : successors(v)) out.emplace_back(v, to);
  return out;
}

}  // namespace penstock::graph
