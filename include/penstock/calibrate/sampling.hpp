#pragma once
// How often a thing is timed.

#include <vector>

#include "penstock/calibrate/statistics.hpp"

namespace penstock::calibrate {

/// Enough is `least` timings, and then either `enough` time spent on them or a median known to `noise`.
/// `most` is enough in any case. NVBench's rule (NVIDIA/nvbench, docs/benchmarks.md: stdrel criterion,
/// time-out); differs in taking the median's interval for the noise, which a few slow timings do not move.
struct SamplingRule {
  std::int64_t least = 10;
  core::Seconds enough{0.5};
  double noise = 0.005;
  core::Seconds most{15};
  double slowest_clock =
      0.75;  ///< timings at a lower share of the full clock are thrown away, as NVBench does,
  std::int64_t most_rejected = 50;  ///< but no more of them: a machine that stays slow is slow
};

/// The timings of one thing so far.
class Samples {
 public:
  explicit Samples(const SamplingRule& rule) : rule_(rule) {}

  /// `spent`: what the timing took in all, eviction of caches included.
  void add(core::Seconds time, core::Seconds spent);
  /// Throws the timing away; false when too many were, and it has to be added.
  bool reject(core::Seconds spent);
  bool enough() const;

  cost::Timing timing() const { return summarise(times_); }
  std::int64_t rejected() const { return rejected_; }

 private:
  bool settled() const;

  SamplingRule rule_;
  std::vector<double> times_;
  double spent_ = 0;
  std::int64_t rejected_ = 0;
};

}  // namespace penstock::calibrate
