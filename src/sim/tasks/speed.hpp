#pragma once
// How fast something works over time.

#include <cstdint>
#include <vector>

namespace penstock::sim {

/// One until told otherwise; constant between changes.
class Speed {
 public:
  static constexpr std::int64_t kNever = INT64_MAX;

  /// Changes come in time order; of several at one moment the last counts.
  void change(std::int64_t at, double speed);
  /// When `work`, ps at speed one, is done that begins at `start`: the moment by which the speed's integral
  /// has reached it, to the nearest ps; kNever when it never does.
  std::int64_t finish(std::int64_t start, std::int64_t work) const;

  /// Work, ps at speed one, done from `start` to `end`.
  double done(std::int64_t start, std::int64_t end) const;

 private:
  struct Step {
    std::int64_t from;
    double speed;  ///< until the next step
  };
  std::vector<Step> steps_;  ///< by time
};

}  // namespace penstock::sim
