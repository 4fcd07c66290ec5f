#pragma once
// Walking through a grid: how far every rank has come, and which milestones lie behind.

#include <optional>
#include <vector>

#include "penstock/schedule/run_order.hpp"

namespace penstock::schedule {

class Progress {
 public:
  explicit Progress(const Grid& grid) : grid_(grid), done_(grid, false), next_(grid.ranks.size(), 0) {}

  bool finished(std::size_t rank) const { return next_[rank] == grid_.ranks[rank].size(); }
  std::size_t position(std::size_t rank) const { return next_[rank]; }
  const Action& head(std::size_t rank) const { return grid_.ranks[rank][next_[rank]]; }
  bool ready(std::size_t rank) { return !finished(rank) && !missing(rank); }

  /// What the head of the rank still waits for.
  std::optional<Milestone> missing(std::size_t rank) {
    for (const Action& part : parts(head(rank)))
      if (const auto wanted = awaited(grid_, part); wanted && !done_[*wanted]) return wanted;
    return {};
  }
  const Action& step(std::size_t rank) {
    const Action& action = head(rank);
    for (const Action& part : parts(action))
      if (const auto end = reached(part)) done_[*end] = true;
    ++next_[rank];
    return action;
  }

 private:
  const Grid& grid_;
  Milestones<char> done_;
  std::vector<std::size_t> next_;  ///< position of every rank's head
};

}  // namespace penstock::schedule
