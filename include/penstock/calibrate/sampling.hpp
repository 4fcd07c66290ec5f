#pragma once
// How often to repeat a timing.

#include <vector>

#include "penstock/calibrate/statistics.hpp"

namespace penstock::calibrate {

/// Enough is `least` timings, and then either `enough` time spent on them or an uncertainty of the median
/// below `noise`. `most` is enough in any case. NVBench's rule (NVIDIA/nvbench, docs/benchmarks.md: stdrel
/// criterion, time-out). Difference: noise is the median's interval, which a few slow timings do not move.
struct SamplingRule {
  std::int64_t least = 10;
  core::Seconds enough{0.5};
  double noise = 0.005;
  core::Seconds most{15};
  double slowest_clock = 0.75;  ///< timings at a lower share of the full clock are rejected, as NVBench does,
  std::int64_t most_rejected = 50;  ///< but at most so many: a machine that stays slow is slow
};

/// The timings of one kernel or transfer so far.
class TimingSamples {
 public:
  explicit TimingSamples(const SamplingRule& rule) : rule_(rule) {}

  /// `spent`: total time of the timing, eviction of caches included.
  void add(core::Seconds time, core::Seconds spent);
  /// Rejects the timing; false if too many were rejected, and it must be added.
  bool reject(core::Seconds spent);
  bool enough() const;

  cost::TimingSummary timing() const { return summarise(times_); }
  std::int64_t rejected() const { return rejected_; }

 private:
  bool settled() const;

  SamplingRule rule_;
  std::vector<double> times_;
  double spent_ = 0;
  std::int64_t rejected_ = 0;
};

}  // namespace penstock::calibrate
