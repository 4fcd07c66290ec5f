#pragma once
// Cells of the dynamic programme: minimum in-flight counts by configuration and device count.

#include <cstdint>
#include <vector>

namespace penstock::planners {

using Level = std::int32_t;                 ///< samples in flight, in units of the smallest micro-batch
inline constexpr Level kNoLevel = 1 << 30;  ///< no plan

/// Interface of a stage to the stages downstream: their configuration (micro-batch size) and in-flight count.
struct StageInterface {
  int config = 0;  ///< configuration index; one past the last: the end of the network
  Level level = 0;
  friend auto operator<=>(const StageInterface&, const StageInterface&) = default;
};

/// Level of a stage from its successor's: round_up(level + add) to a multiple of `run`, at most `most`.
struct LevelStep {
  Level add = 0;
  Level run = 1;
  Level most = kNoLevel;
  Level after(Level level) const {
    const Level raised = (level + add + run - 1) / run * run;
    return raised < most ? raised : most;
  }
  /// The largest level from which a stage with room for `capacity` can be reached; -1 if there is none.
  Level largest_source(Level capacity) const {
    if (capacity >= most) return kNoLevel - 1;
    return capacity / run * run - add;
  }
};

/// cell(config, devices): minimum in-flight count of the first stages with exactly that many devices.
class LevelRow {
 public:
  LevelRow() = default;
  LevelRow(int configs, int devices) : configs_(configs), width_(devices + 1) {}

  Level cell(int config, int devices) const {
    return empty() || devices < 0 || devices >= width_ ? kNoLevel : cells(config)[devices];
  }
  void lower(int config, int devices, Level level) {
    if (devices >= width_ || level >= kNoLevel) return;
    widen(config, devices, devices);
    if (level < cells(config)[devices]) cells(config)[devices] = level;
  }
  int configs() const { return configs_; }
  int devices() const { return width_ - 1; }
  /// No cell below `low` or above `high` is filled; low > high: no cell is.
  int low(int config) const { return empty() ? width_ : data_[span(config)]; }
  int high(int config) const { return empty() ? -1 : data_[span(config) + 1]; }
  bool empty() const { return data_.empty(); }

  /// Lowers by `source` moved `shift` devices up.
  void lower_by(const LevelRow& source, int shift);
  /// Lowers configuration `to` by a stage with `replicas` devices in front of `source`'s configuration
  /// `from`.
  void lower_by_stage(int to, const LevelRow& source, int from, int replicas, const LevelStep& step,
                      Level capacity);
  /// Lowers by two rows side by side in one configuration: devices add up, and the larger level counts.
  void lower_side_by_side(const LevelRow& a, const LevelRow& b);

 private:
  std::size_t span(int config) const { return static_cast<std::size_t>(config * (width_ + 2)); }
  const Level* cells(int config) const { return &data_[span(config) + 2]; }
  Level* cells(int config) { return &data_[span(config) + 2]; }
  /// Allocates on first use: most rows stay empty.
  void widen(int config, int low, int high);

  int configs_ = 0;
  int width_ = 0;
  std::vector<Level> data_;  ///< [config] low, high, then one cell per device count
};

}  // namespace penstock::planners
