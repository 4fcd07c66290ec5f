#pragma once
// State of a run relative to its period, to find out when it repeats.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "tasks/tasks.hpp"

namespace penstock::sim {

/// Consecutive tasks that the builder added together: passes of a rank, or messages of a boundary.
struct RepeatedSection {
  TaskId first = 0, end = 0;
  TaskId step = 0;             ///< tasks per period; 0: the section does not repeat
  TaskId from = 0, until = 0;  ///< tasks that equal those `step` later: work, dependencies and their order
};

/// Times since `now` and tasks as of period 0, as numbers that are equal if and only if these are.
class RelativeState {
 public:
  RelativeState(const std::vector<RepeatedSection>& sections, std::int64_t period, std::int64_t now)
      : sections_(sections), period_(period), now_(now) {}

  std::int64_t task(TaskId id) const {
    const auto after = std::ranges::upper_bound(sections_, id, {}, &RepeatedSection::first);
    const auto& section = *std::prev(after);
    return (std::int64_t{after - sections_.begin()} << 40) + id - section.first - period_ * section.step;
  }
  std::int64_t time(std::int64_t at) const {
    return at == std::numeric_limits<std::int64_t>::max() ? at : at - now_;
  }
  static std::int64_t bits(double value) { return std::bit_cast<std::int64_t>(value); }

  void add(std::int64_t number) { numbers_.push_back(number); }
  /// Adds rows in sorted order, where the order in which they are stored has no effect.
  template <class Row>
  void add_sorted(std::vector<Row> rows) {
    std::ranges::sort(rows);
    add(static_cast<std::int64_t>(rows.size()));
    for (const Row& row : rows) numbers_.insert(numbers_.end(), row.begin(), row.end());
  }
  std::vector<std::int64_t> take() { return std::move(numbers_); }

 private:
  const std::vector<RepeatedSection>& sections_;
  std::int64_t period_, now_;
  std::vector<std::int64_t> numbers_;
};

/// A state that came again, `periods` later.
struct StateRepetition {
  std::int64_t periods = 0;  ///< 0: none
  std::int64_t time = 0;     ///< ps between the two
};

/// Follows a run: which tasks it has touched, and the earlier state to compare with (Brent, BIT 20, 1980).
class PeriodWatch {
 public:
  PeriodWatch(const std::vector<RepeatedSection>& sections, std::size_t tasks);

  /// The task was released or waits for fewer tasks.
  void touch(TaskId id) {
    TaskId& last = last_[static_cast<std::size_t>(section_[static_cast<std::size_t>(id)])];
    last = std::max(last, id);
  }
  /// Returns true if the task begins a period of the first section.
  void end(TaskId id) {
    if (id == mark_) due_ = true;
  }
  bool due() const { return due_; }
  /// Adds the tasks under way; false while tasks before the periods are, or once tasks after them are.
  bool add_tasks(RelativeState& state, std::span<const std::int32_t> waiting);
  /// Next period, at `now`. `state` is empty if it cannot be compared.
  void next(std::vector<std::int64_t> state, std::int64_t now);

  const std::vector<RepeatedSection>& sections() const { return sections_; }
  std::int64_t period() const { return period_; }
  StateRepetition found() const { return found_; }

 private:
  const std::vector<RepeatedSection>& sections_;
  std::vector<std::int32_t> section_;  ///< [task]
  std::vector<TaskId> last_;           ///< [section] last task touched
  std::vector<TaskId> open_;           ///< [section] first task that has not ended
  TaskId mark_;                        ///< task whose end completes the current period
  bool due_ = false;
  std::int64_t period_ = 0;
  std::vector<std::int64_t> saved_;
  std::int64_t saved_period_ = 0, saved_time_ = 0, window_ = 1;
  StateRepetition found_;
};

/// Mark of a task that has ended among the numbers of tasks that tasks wait for.
inline constexpr std::int32_t kEndedTask = -1;

}  // namespace penstock::sim
