#pragma once
// Times transfers: copies, and collectives between devices, or threads, of one machine.

#include "penstock/calibrate/ring.hpp"
#include "penstock/calibrate/stopwatch.hpp"
#include "penstock/kernels/collectives.hpp"

namespace penstock::calibrate {

/// Devices and rule for timing transfers. Rank 0's stream bears the stopwatch's events.
struct LinkBench {
  std::vector<RankBackend>& ranks;
  DeviceClock& clock;
  SamplingRule rule;
  core::StopToken stop;
  kernels::Collectives* library = nullptr;  ///< of the ranks; null: collectives are rings of copies and sums
  Stopwatch stopwatch() const { return Stopwatch(*ranks[0].stream, clock, rule, stop); }
};

/// One transfer of `bytes`, rounded up to whole numbers: between two ranks for a peer copy, whose bytes the
/// sender has just written, and between all for collectives. Broadcast is not measured (an internal error).
cost::LinkPoint time_link(const LinkBench& bench, cost::LinkKind kind, core::Bytes bytes);

/// Two ranks copy within their memory, first one, then both at once.
cost::SharingTest time_sharing(const LinkBench& bench, core::Bytes bytes);

/// Rank 0 multiplies while rank 1 copies, and vice versa; both repeatedly.
cost::OverlapTest time_overlap(const LinkBench& bench, std::int64_t product, core::Bytes copy,
                               cluster::Precision precision);

/// Puts the point into the calibration's link of that kind and rank count, and fits the link again. Of two
/// timings of one size the less noisy counts.
void add_point(cost::Calibration& calibration, cost::LinkKind kind, int ranks, const cost::LinkPoint& point);
bool has_point(const cost::Calibration& calibration, cost::LinkKind kind, int ranks, core::Bytes bytes);

}  // namespace penstock::calibrate
