#pragma once
// The cell algebra of the dynamic programme: least in-flight counts by configuration and device count.

#include <cstdint>
#include <vector>

namespace penstock::planners {

using Level = std::int32_t;                 ///< samples in flight, in units of the smallest micro-batch
inline constexpr Level kNoLevel = 1 << 30;  ///< no plan

/// What a stage sees downstream: the configuration (micro-batch size) and in-flight count of the stages it
/// feeds.
struct Boundary {
  int config = 0;  ///< index; one past the last configuration: nothing downstream, the end of the network
  Level level = 0;
  friend auto operator<=>(const Boundary&, const Boundary&) = default;
};

/// How a stage's level follows from its successor's: round_up(level + add) to a multiple of `run`, at most
/// `most`.
struct LevelStep {
  Level add = 0;
  Level run = 1;
  Level most = kNoLevel;
  Level after(Level level) const {
    const Level raised = (level + add + run - 1) / run * run;
    return raised < most ? raised : most;
  }
  /// The largest level from which a stage with room for `capacity` can be reached; -1 when there is none.
  Level largest_source(Level capacity) const {
    if (capacity >= most) return kNoLevel - 1;
    return capacity / run * run - add;
  }
};

/// cell(config, devices): the least in-flight count of the first stages with exactly that many devices.
class LevelRow {
 public:
  LevelRow() = default;
  LevelRow(int configs, int devices)
      : configs_(configs),
        width_(devices + 1),
        cells_(static_cast<std::size_t>(configs_ * width_), kNoLevel),
        low_(static_cast<std::size_t>(configs), devices + 1),
        high_(static_cast<std::size_t>(configs), -1) {}

  Level cell(int config, int devices) const {
    return devices < 0 || devices >= width_ ? kNoLevel : cells_[index(config, devices)];
  }
  void lower(int config, int devices, Level level) {
    if (devices >= width_ || level >= kNoLevel) return;
    Level& here = cells_[index(config, devices)];
    if (level < here) here = level;
    widen(config, devices, devices);
  }
  int configs() const { return configs_; }
  int devices() const { return width_ - 1; }
  int low(int config) const { return low_[static_cast<std::size_t>(config)]; }  ///< no cell below is filled
  int high(int config) const {
    return high_[static_cast<std::size_t>(config)];
  }  ///< nor above; < low: none at all
  bool empty() const;

  /// Lowers by `source` moved `shift` devices up.
  void lower_by(const LevelRow& source, int shift);
  /// Lowers configuration `to` by a stage with `replicas` devices in front of `source`'s configuration
  /// `from`.
  void lower_by_stage(int to, const LevelRow& source, int from, int replicas, const LevelStep& step,
                      Level capacity);
  /// Lowers by two rows side by side: devices add up, the larger level counts; both in the same
  /// configuration.
  void lower_side_by_side(const LevelRow& a, const LevelRow& b);

 private:
  std::size_t index(int config, int devices) const {
    return static_cast<std::size_t>(config * width_ + devices);
  }
  void widen(int config, int low, int high) {
    auto &l = low_[static_cast<std::size_t>(config)], &h = high_[static_cast<std::size_t>(config)];
    if (low < l) l = low;
    if (high > h) h = high;
  }
  int configs_ = 0;
  int width_ = 0;
  std::vector<Level> cells_;
  std::vector<int> low_, high_;
};

}  // namespace penstock::planners
