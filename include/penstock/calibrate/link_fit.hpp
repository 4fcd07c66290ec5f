#pragma once
// Lines through measured transfer times.

#include <optional>
#include <span>
#include <vector>

#include "penstock/cost/calibration.hpp"
#include "penstock/cost/communication.hpp"

namespace penstock::calibrate {

/// Piecewise time = latency + bytes * per_byte by least squares on medians, each weighted by 1 / time^2 so
/// that all sizes count alike. One to three segments of at least three points each; every choice of
/// breakpoints is tried, and a further segment is taken when it lowers Schwarz's criterion (Schwarz,
/// "Estimating the dimension of a model", Annals of Statistics 1978). Neither latencies nor slopes are
/// negative: where the best line has one that is, the best line without it counts. Intervals, 95 %, come from
/// 200 fits with the residuals of the segment drawn anew, by seed. Points ascend by bytes; fewer than three
/// give no segment. Segments end where the next one's points begin: from and to are sizes measured.
std::vector<cost::LinkSegment> fit_link(std::span<const cost::LinkPoint> points, std::uint64_t seed);

/// One segment over all points; nothing when they do not take longer the larger they are.
std::optional<cost::Affine> fit_line(std::span<const cost::LinkPoint> points);

}  // namespace penstock::calibrate
