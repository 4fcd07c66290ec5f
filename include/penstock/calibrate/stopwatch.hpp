#pragma once
// Times work on a stream by its events.

#include <functional>

#include "penstock/calibrate/clock.hpp"
#include "penstock/calibrate/sampling.hpp"
#include "penstock/core/stop.hpp"
#include "penstock/kernels/backend.hpp"

namespace penstock::calibrate {

/// Puts the same work on the stream at every call.
using Body = std::function<void()>;

/// Keeps references to stream and clock. Members throw InterruptedError after a request of `stop`.
class Stopwatch {
 public:
  Stopwatch(kernels::Stream& stream, DeviceClock& clock, const SamplingRule& rule, core::StopToken stop = {})
      : stream_(stream), clock_(clock), rule_(rule), stop_(stop) {}

  /// Runs until two runs in a row are no more than 5 % faster than the best before, at most 20 runs or 0.2 s.
  /// Returns the best time.
  core::Seconds warm_up(const Body& body);
  static constexpr core::Seconds kLongestWarmUp{0.2};
  /// Caches are evicted before each timing.
  cost::TimingSummary cold(const Body& body);
  /// Runs without a pause. Work shorter than 20 us is bundled, so that neither events nor launches count.
  cost::TimingSummary back_to_back(const Body& body);
  cost::TimingSummary unbundled(
      const Body& body);  ///< like back_to_back, but each run between its own events
  cost::TimingSummary after(const Body& before,
                            const Body& body);  ///< `before` is run ahead of each timing, and not timed

  std::int64_t rejected() const { return rejected_; }  ///< timings rejected for a low clock
  const SamplingRule& rule() const { return rule_; }

 private:
  core::Seconds time(const Body& body);
  bool throttled();
  cost::TimingSummary sample(const Body& before, const Body& body, int copies);

  kernels::Stream& stream_;
  DeviceClock& clock_;
  SamplingRule rule_;
  core::StopToken stop_;
  std::int64_t rejected_ = 0;
};

}  // namespace penstock::calibrate
