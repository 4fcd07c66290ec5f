#pragma once
// A frozen directed acyclic graph: the index-based view every algorithm works on.

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace penstock::graph {

using Vertex = std::int32_t;
using Edge = std::pair<Vertex, Vertex>;  ///< from, to

/// Vertices 0..size-1 are in topological order: every edge leads from a lower to a higher number. Parallel
/// edges are merged; neighbour lists are sorted. Compressed rows, immutable.
class Dag {
 public:
  Dag() = default;
  /// Throws an internal error when an edge does not lead upwards or leaves the range.
  Dag(std::size_t size, std::vector<Edge> edges);

  std::size_t size() const { return size_; }
  std::size_t edge_count() const { return targets_.size(); }
  std::span<const Vertex> successors(Vertex v) const { return row(successor_start_, targets_, v); }
  std::span<const Vertex> predecessors(Vertex v) const { return row(predecessor_start_, sources_, v); }
  bool has_edge(Vertex from, Vertex to) const;
  std::vector<Edge> edges() const;  ///< sorted by (from, to)

 private:
  static std::span<const Vertex> row(const std::vector<std::uint32_t>& start, const std::vector<Vertex>& all,
                                     Vertex v) {
    const auto i = static_cast<std::size_t>(v);
    return {all.data() + start[i], all.data() + start[i + 1]};
  }
  std::size_t size_ = 0;
  std::vector<std::uint32_t> successor_start_{0};
  std::vector<std::uint32_t> predecessor_start_{0};
  std::vector<Vertex> targets_;
  std::vector<Vertex> sources_;
};

}  // namespace penstock::graph
