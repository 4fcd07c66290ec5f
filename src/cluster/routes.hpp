#pragma once
// Shortest paths between the points of a network.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "penstock/cluster/cluster.hpp"

namespace penstock::cluster {

/// Paths with the fewest links; ties go to the link listed first. Points with one neighbour are removed
/// repeatedly: they form trees, where a path is a climb, and n points of a tree need no table. The remaining
/// points are the core. Each core point is searched breadth first when a path first needs it. Safe to use
/// from many threads.
class RouteFinder {
 public:
  RouteFinder(std::size_t points, const std::vector<Link>& links);
  /// Returns links in order of travel. Throws std::logic_error if there is no path. Precondition: from != to.
  std::vector<std::size_t> between(std::size_t from, std::size_t to) const;
  /// Returns the first pair of the points 0 to count - 1 without a path from one to the other.
  std::optional<std::pair<std::size_t, std::size_t>> gap(std::size_t count) const;

 private:
  struct LinkEnds {
    std::size_t from = 0, to = 0;  ///< points
  };
  /// Position of a point in its tree.
  struct TreePosition {
    std::size_t parent = 0;      ///< parent point; a core point is its own parent
    std::size_t up = 0;          ///< link to the parent
    std::size_t down = 0;        ///< link from the parent
    std::size_t depth = 0;       ///< links up to the core
    std::size_t root = 0;        ///< point of the core at the root of the tree
    std::size_t core_index = 0;  ///< index within the core, for core points
  };
  using LastLinks = std::vector<std::int32_t>;  ///< [core point] last link of the path to it; -1: no path
  /// LastLinks in a byte per point: index of the last link among the links that lead to the point.
  using Places = std::vector<std::uint8_t>;  ///< [core point], for points with few links
  static constexpr std::uint8_t kNone = 255;
  /// Paths from devices with equal positions in equal nodes differ in few last links, so rows share one list
  /// and store the differences.
  struct RouteRow {
    const Places* shared = nullptr;
    std::vector<std::pair<std::uint32_t, std::uint8_t>>
        other;                       ///< differing points, ascending, and their places
    std::vector<std::int32_t> many;  ///< [wide_] last link; -1: no path
  };

  void hang_trees();
  void number_core();
  const RouteRow& row(std::size_t root) const;
  RouteRow packed(const LastLinks& last) const;
  /// Returns the first stored list that is nearly equal; stores and returns `places` if there is none.
  RouteRow shared(Places places) const;
  /// Last link to a core point; -1: no path
  std::int32_t last_link(const RouteRow& row, std::size_t point) const;
  LastLinks search(std::size_t root, bool backward) const;
  bool reaches(std::size_t from, std::size_t to) const;

  std::vector<LinkEnds> links_;
  std::vector<TreePosition> holds_;                            ///< [point]
  std::vector<std::vector<std::size_t>> outgoing_, incoming_;  ///< [core point] links within the core
  std::vector<std::uint32_t> place_;                ///< [link] index among the links that lead to its point
  std::vector<std::size_t> wide_;                   ///< core points with more links than a byte can number
  std::vector<std::int32_t> wide_of_;               ///< [core point] index into wide_; -1: not in it
  mutable std::vector<RouteRow> rows_;              ///< [core point] computed on first use
  mutable std::unique_ptr<std::once_flag[]> made_;  // NOLINT(modernize-avoid-c-arrays): flags do not move
  mutable std::mutex mutex_;
  mutable std::deque<Places> places_;  ///< lists that rows share; a deque keeps their addresses
};

}  // namespace penstock::cluster
