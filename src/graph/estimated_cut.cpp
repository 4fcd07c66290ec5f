#include "estimated_cut.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

namespace penstock::graph {
namespace {

/// First side within {to <= x}, other side within {from <= y}.
struct CutThreshold {
  double x, y;
  /// On equal bounds the most even cut comes first: it leaves the most freedom on both sides.
  bool operator<(const CutThreshold& other) const {
    return std::make_tuple(x + y, std::abs(x - y), x) <
           std::make_tuple(other.x + other.y, std::abs(other.x - other.y), other.x);
  }
};

std::vector<CutThreshold> thresholds(const PathLengths& paths) {
  std::vector<std::size_t> by_to(paths.to.size());
  std::iota(by_to.begin(), by_to.end(), std::size_t{0});
  std::sort(by_to.begin(), by_to.end(), [&](auto a, auto b) { return paths.to[a] < paths.to[b]; });
  std::vector<CutThreshold> out;
  double y = 0;  // the longest path out of the vertices passed so far, from the back
  for (std::size_t i = by_to.size() - 1; i > 0; --i) {
    y = std::max(y, paths.from[by_to[i]]);
    const double x = paths.to[by_to[i - 1]];
    if (x < paths.to[by_to[i]]) out.push_back({x, y});
  }
  return out;
}

/// For pieces where every path weighs the same, zero that is: any cut is as good.
std::vector<int> first_vertex_first(std::size_t n) {
  std::vector<int> labels(n, 1);
  labels[0] = 0;
  return labels;
}

}  // namespace

std::vector<std::vector<int>> estimated_cuts(const GraphPiece& piece, int count) {
  const PathLengths paths = path_lengths(piece.dag, piece.weights);
  std::vector<CutThreshold> best = thresholds(paths);
  std::sort(best.begin(), best.end());
  if (best.size() > static_cast<std::size_t>(count)) best.resize(static_cast<std::size_t>(count));
  std::vector<std::vector<int>> cuts;
  for (const auto& [x, y] : best) {
    std::vector<int> largest(piece.dag.size()), smallest(largest);
    for (std::size_t v = 0; v < largest.size(); ++v) {
      largest[v] = paths.to[v] > x;
      smallest[v] = paths.from[v] <= y;
    }
    cuts.push_back(largest);
    if (smallest != largest && std::ranges::count(smallest, 0) > 0) cuts.push_back(smallest);
  }
  if (cuts.empty()) cuts.push_back(first_vertex_first(piece.dag.size()));
  return cuts;
}

}  // namespace penstock::graph
