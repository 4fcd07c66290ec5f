#pragma once
// Dependencies between the actions of a schedule: the part of its meaning that needs no times.

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "penstock/schedule/schedule.hpp"

namespace penstock::schedule {

/// An event that actions wait for. It is the end of a forward, of an input gradient, of a send, or of moving
/// an activation to the partner rank or back. The input gradient of a full backward ends with the whole.
struct ActionMilestone {
  ActionKind kind =
      ActionKind::forward;  ///< forward, input_gradient, send_forward, send_backward, evict or load
  std::int32_t stage = 0;
  std::int32_t micro_batch = 0;
};

/// The milestone that a part waits for, in addition to its rank's earlier actions; nothing if there is none.
/// A barrier waits for ranks instead. A backward also waits for its LOAD, which a valid schedule has before
/// it.
std::optional<ActionMilestone> awaited(const Schedule& schedule, const Action& part);
/// The milestone that a part reaches when it ends.
std::optional<ActionMilestone> reached(const Action& part);

/// One value per milestone of a schedule, in a dense array.
template <class T>
class MilestoneValues {
 public:
  MilestoneValues(const Schedule& schedule, T initial)
      : stages_(static_cast<std::size_t>(schedule.stages())),
        count_(static_cast<std::size_t>(micro_batches(schedule))),
        values_(kRows.size() * stages_ * count_, initial) {}
  T& operator[](const ActionMilestone& m) {
    return values_[(row(m.kind) * stages_ + static_cast<std::size_t>(m.stage)) * count_ +
                   static_cast<std::size_t>(m.micro_batch)];
  }

 private:
  static constexpr std::array kRows = {ActionKind::forward,      ActionKind::input_gradient,
                                       ActionKind::send_forward, ActionKind::send_backward,
                                       ActionKind::evict,        ActionKind::load};
  static std::size_t row(ActionKind kind) {
    return static_cast<std::size_t>(std::find(kRows.begin(), kRows.end(), kind) - kRows.begin());
  }
  std::size_t stages_, count_;
  std::vector<T> values_;
};

struct RowCell {
  std::int32_t rank = 0;
  std::int32_t position = 0;  ///< in the rank's row
};

/// All cells in an order that respects rows and dependencies; shorter than the schedule if it deadlocks.
std::vector<RowCell> run_order(const Schedule& schedule);

/// Circle of ranks that wait for each other, in words; empty if the schedule runs to its end.
std::string deadlock(const Schedule& schedule);

}  // namespace penstock::schedule
