#pragma once
// Speed of a device or path over time.

#include <cstdint>
#include <vector>

namespace penstock::sim {

/// Starts at one; constant between changes.
class SpeedProfile {
 public:
  static constexpr std::int64_t kNever = INT64_MAX;

  /// Changes must come in time order; of several at one moment the last counts.
  void change(std::int64_t at, double speed);
  /// End of `work` (ps at speed one) that begins at `start`. It is the time at which the integral of the
  /// speed has reached it, to the nearest ps; kNever if it never does.
  std::int64_t finish(std::int64_t start, std::int64_t work) const;

  /// Work (ps at speed one) done from `start` to `end`.
  double done(std::int64_t start, std::int64_t end) const;

 private:
  struct SpeedStep {
    std::int64_t from;
    double speed;  ///< until the next step
  };
  std::vector<SpeedStep> steps_;  ///< sorted by time
};

}  // namespace penstock::sim
