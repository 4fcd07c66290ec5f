#pragma once
// Progress through a schedule: the position of every rank, and the milestones reached.

#include <algorithm>
#include <optional>
#include <vector>

#include "penstock/schedule/run_order.hpp"

namespace penstock::schedule {

class ScheduleProgress {
 public:
  explicit ScheduleProgress(const Schedule& schedule)
      : schedule_(schedule),
        done_(schedule, false),
        next_(schedule.ranks.size(), 0),
        passed_(schedule.ranks.size(), 0) {
    for (std::size_t r = 0; r < schedule.ranks.size(); ++r) arrive(r);
  }

  bool finished(std::size_t rank) const { return next_[rank] == schedule_.ranks[rank].size(); }
  std::size_t position(std::size_t rank) const { return next_[rank]; }
  const Action& head(std::size_t rank) const { return schedule_.ranks[rank][next_[rank]]; }
  bool ready(std::size_t rank) {
    return !finished(rank) && (at_barrier(rank) ? opens(rank) : !missing(rank));
  }

  /// A rank that the barrier at the head of `rank` still waits for; nothing if the head is no barrier.
  std::optional<std::size_t> absent(std::size_t rank) const {
    if (!at_barrier(rank)) return {};
    for (std::size_t r = 0; r < next_.size(); ++r)
      if (passed_[r] < passed_[rank] || (passed_[r] == passed_[rank] && !at_barrier(r))) return r;
    return {};
  }

  /// Milestone that the head of the rank still waits for.
  std::optional<ActionMilestone> missing(std::size_t rank) {
    for (const Action& part : parts(head(rank)))
      if (const auto wanted = awaited(schedule_, part); wanted && !done_[*wanted]) return wanted;
    return {};
  }
  const Action& step(std::size_t rank) {
    const Action& action = head(rank);
    for (const Action& part : parts(action))
      if (const auto end = reached(part)) done_[*end] = true;
    if (action.kind == ActionKind::barrier) ++passed_[rank];
    ++next_[rank];
    arrive(rank);
    return action;
  }

 private:
  bool at_barrier(std::size_t rank) const {
    return !finished(rank) && head(rank).kind == ActionKind::barrier;
  }
  /// True if all ranks have reached the barrier at the head of `rank`.
  bool opens(std::size_t rank) const { return arrived_[passed_[rank]] == next_.size(); }
  void arrive(std::size_t rank) {
    if (!at_barrier(rank)) return;
    arrived_.resize(std::max(arrived_.size(), passed_[rank] + 1), 0);
    ++arrived_[passed_[rank]];
  }

  const Schedule& schedule_;
  MilestoneValues<char> done_;
  std::vector<std::size_t> next_;     ///< position of every rank's head
  std::vector<std::size_t> passed_;   ///< barriers behind every rank
  std::vector<std::size_t> arrived_;  ///< ranks that have come to barrier k
};

}  // namespace penstock::schedule
