#pragma once
// The ways between the points of a network.

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

/// Ways of fewest links; ties go to the link listed first. What hangs on the network by one neighbour, over
/// and over, forms trees, in which the way is a climb: n points of a tree need no table. What is left, the
/// core, is searched breadth first from each of its points when a way first needs it. Safe to use from many
/// threads.
class Routes {
 public:
  Routes(std::size_t points, const std::vector<Link>& links);
  /// Links in order of travel; throws std::logic_error where there is no way. from != to.
  std::vector<std::size_t> between(std::size_t from, std::size_t to) const;
  /// The first two of the points 0 to count - 1 without a way from the one to the other.
  std::optional<std::pair<std::size_t, std::size_t>> gap(std::size_t count) const;

 private:
  struct Ends {
    std::size_t from = 0, to = 0;  ///< points
  };
  /// How a point hangs on the network.
  struct Hold {
    std::size_t parent = 0;      ///< point; of the core: itself
    std::size_t up = 0;          ///< link to the parent
    std::size_t down = 0;        ///< link from the parent
    std::size_t depth = 0;       ///< links up to the core
    std::size_t root = 0;        ///< point of the core
    std::size_t core_index = 0;  ///< of a point of the core
  };
  using LastLinks = std::vector<std::int32_t>;  ///< [core point] of the way to it; -1 none
  /// The same in a byte for most points: the link's place among those that lead to the point.
  using Places = std::vector<std::uint8_t>;  ///< [core point] of few links
  static constexpr std::uint8_t kNone = 255;
  /// Ways from devices that stand alike in alike nodes end alike but for a few points: rows share what is
  /// alike.
  struct Row {
    const Places* shared = nullptr;
    std::vector<std::pair<std::uint32_t, std::uint8_t>>
        other;                       ///< points that differ, ascending, and their places
    std::vector<std::int32_t> many;  ///< [wide_] last link; -1 none
  };

  void hang_trees();
  void number_core();
  const Row& row(std::size_t root) const;
  Row packed(const LastLinks& last) const;
  /// Of the first list that is alike; itself where there is none.
  Row shared(Places places) const;
  std::int32_t last_link(const Row& row, std::size_t point) const;  ///< of a point of the core; -1 none
  LastLinks search(std::size_t root, bool backward) const;
  bool reaches(std::size_t from, std::size_t to) const;

  std::vector<Ends> links_;
  std::vector<Hold> holds_;                                    ///< [point]
  std::vector<std::vector<std::size_t>> outgoing_, incoming_;  ///< [core point] links within the core
  std::vector<std::uint32_t> place_;                           ///< [link] among those that lead to its point
  std::vector<std::size_t> wide_;                   ///< core points with more links than a byte tells apart
  std::vector<std::int32_t> wide_of_;               ///< [core point] index into wide_; -1 none
  mutable std::vector<Row> rows_;                   ///< [core point] made when first asked for
  mutable std::unique_ptr<std::once_flag[]> made_;  // NOLINT(modernize-avoid-c-arrays): flags do not move
  mutable std::mutex mutex_;
  mutable std::deque<Places> places_;  ///< that rows share; stay where they are
};

}  // namespace penstock::cluster
