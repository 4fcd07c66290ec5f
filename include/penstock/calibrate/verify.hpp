#pragma once
// Times some points of a calibration again, to notice that a device has changed.

#include <vector>

#include "penstock/calibrate/stopwatch.hpp"

namespace penstock::calibrate {

/// One point timed again, back to back.
struct KernelRecheck {
  cost::KernelKey key;
  graph::Pass pass = graph::Pass::forward;
  std::int64_t samples = 1;
  cost::TimingSummary before, now;
  double change() const { return now.median / before.median - 1; }
  /// True for a change of more than a tenth that is not noise: the new median's interval lies outside the old
  /// p10 to p90.
  bool off() const;
};

/// Up to `count` points, evenly spaced in the order of their times, without those of a second and more.
std::vector<KernelRecheck> choose_points(const cost::Calibration& calibration, std::size_t count);

/// Fills `now`. Throws BadInput if the device has no such kernel.
void recheck(std::vector<KernelRecheck>& points, kernels::Backend& backend, kernels::Stream& stream,
             Stopwatch& stopwatch);

/// True if more than a quarter of the points are off.
bool drifted(const std::vector<KernelRecheck>& points);

}  // namespace penstock::calibrate
