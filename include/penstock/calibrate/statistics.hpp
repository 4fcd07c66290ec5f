#pragma once
// What repeated timings say, as a calibration keeps it.

#include "penstock/core/statistics.hpp"
#include "penstock/cost/calibration.hpp"

namespace penstock::calibrate {

using core::median_ranks;
using core::noise;
using core::quantile;
using core::Ranks;

/// Median, p10, p90, count and the median's interval. At least one time, in seconds, above zero.
cost::Timing summarise(std::vector<double> times);

/// Two rounds of one point, or more, as one: timings sum up the medians of the rounds, so that what slowed
/// one of them changes little; algorithm and workspace are the later one's.
cost::KernelPoint joined(const cost::KernelPoint& earlier, const cost::KernelPoint& later);

}  // namespace penstock::calibrate
