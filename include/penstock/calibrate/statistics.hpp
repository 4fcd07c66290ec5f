#pragma once
// Summary of repeated timings, in the form of a calibration.

#include "penstock/core/statistics.hpp"
#include "penstock/cost/calibration.hpp"

namespace penstock::calibrate {

using core::median_ranks;
using core::MedianRanks;
using core::noise;
using core::quantile;

/// Median, p10, p90, count and the median's interval. Needs at least one time, in seconds, above zero.
cost::TimingSummary summarise(std::vector<double> times);

/// Two or more rounds of one point as one. Timings summarise the medians of the rounds, so that a slowdown of
/// one round changes little; algorithm and workspace are those of the later one.
cost::KernelPoint joined(const cost::KernelPoint& earlier, const cost::KernelPoint& later);

}  // namespace penstock::calibrate
