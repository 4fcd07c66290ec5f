#pragma once
// Lines through measured transfer times.

#include <optional>
#include <span>
#include <vector>

#include "penstock/cost/calibration.hpp"
#include "penstock/cost/communication.hpp"

namespace penstock::calibrate {

/// Piecewise time = latency + bytes * per_byte by least squares on medians. The weight is 1 / time^2, so that
/// all sizes count the same. Fits one to three segments of at least three points each, with every choice of
/// breakpoints. A further segment is taken if it lowers Schwarz's criterion (Schwarz, "Estimating the
/// dimension of a model", Annals of Statistics 1978). Neither latencies nor slopes are negative: if one is in
/// the best line, the best line without it is taken. Intervals, 95 %, come from 200 fits with resampled
/// residuals of the segment, by seed. Points ascend by bytes; fewer than three give no segment. A segment
/// ends where the points of the next one begin: from and to are measured sizes.
std::vector<cost::LinkSegment> fit_link(std::span<const cost::LinkPoint> points, std::uint64_t seed);

/// One segment over all points; empty if time does not grow with size.
std::optional<cost::AffineTime> fit_line(std::span<const cost::LinkPoint> points);

}  // namespace penstock::calibrate
