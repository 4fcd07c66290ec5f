#pragma once
// Possible states of a sequential pipeline: the downsets of the layers, and their inclusions.

#include <cstdint>
#include <span>
#include <vector>

#include "penstock/core/stop.hpp"
#include "penstock/graph/dag.hpp"

namespace penstock::planners {

/// Limit of Piper's own program.
inline constexpr std::size_t kMostDownsets = 40'000;

/// Downsets ("prefixes", closed under predecessors) by decreasing size: number 0 holds all layers, the last
/// none. The layers between prefix i and a larger prefix j < i form a convex set and may be a stage.
class PiperLattice {
 public:
  /// Throws a limit error beyond `most` prefixes or 4 * 10^8 pairs of them.
  PiperLattice(const graph::Dag& dag, std::size_t most, core::StopToken stop);

  std::size_t size() const { return levels_.back(); }
  /// One bit per layer.
  std::span<const std::uint64_t> bits(std::size_t i) const { return {bits_.data() + i * words_, words_}; }
  bool has(std::size_t i, graph::Vertex v) const {
    return bits_[i * words_ + static_cast<std::size_t>(v) / 64] >> (static_cast<std::size_t>(v) % 64) & 1;
  }
  /// Prefixes that contain prefix i, ascending, without i.
  std::span<const std::uint32_t> larger(std::size_t i) const { return larger_[i]; }
  /// levels()[s] to levels()[s + 1]: prefixes of one size, none of which contains another.
  const std::vector<std::size_t>& levels() const { return levels_; }
  /// Layers between prefix i and the larger prefix j, ascending.
  std::vector<graph::Vertex> between(std::size_t i, std::size_t j) const;

 private:
  void collect(const graph::Dag& dag, std::size_t most, core::StopToken stop);
  void check_pairs(const graph::Dag& dag) const;
  void relate(core::StopToken stop);
  bool contains(std::size_t j, std::size_t i) const;

  std::size_t layers_ = 0, words_ = 0;
  std::vector<std::uint64_t> bits_;
  std::vector<std::size_t> levels_{0};
  std::vector<std::vector<std::uint32_t>> larger_;
};

}  // namespace penstock::planners
