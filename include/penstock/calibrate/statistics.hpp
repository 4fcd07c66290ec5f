#pragma once
// What repeated timings say.

#include <span>
#include <vector>

#include "penstock/cost/calibration.hpp"

namespace penstock::calibrate {

/// Linear between order statistics; `share` from 0 (least) to 1 (greatest). At least one value, ascending.
double quantile(std::span<const double> sorted, double share);

/// Ranks (0-based) whose values enclose the median with 95 % confidence, the whole range where that is too
/// few.
struct Ranks {
  std::size_t low, high;
};

/// The percentile bootstrap of the median in its limit of infinitely many resamples: a resample of n has its
/// median at or below the k-th value when at least half of its draws are, and their number is binomial (n, k
/// / n). Efron, "Bootstrap methods: another look at the jackknife", Annals of Statistics 1979, section 3.
/// Differs in even n, where low and high take the lower and the upper of the two middle draws.
Ranks median_ranks(std::size_t count);

/// How well the median is known: half its 95 % interval as share of it. At least one time, above zero.
double noise(std::vector<double> times);

/// Median, p10, p90, count and the median's interval. At least one time, in seconds, above zero.
cost::Timing summarise(std::vector<double> times);

}  // namespace penstock::calibrate
