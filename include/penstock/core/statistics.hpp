#pragma once
// Statistics of repeated timings, and agreement of two rankings.

#include <cstddef>
#include <span>
#include <vector>

namespace penstock::core {

/// Quantile, linear between order statistics; `share` from 0 (minimum) to 1 (maximum). `sorted` is ascending
/// and has at least one value.
double quantile(std::span<const double> sorted, double share);

/// 0-based ranks whose values enclose the median with 95 % confidence; the whole range if there are too few
/// values.
struct MedianRanks {
  std::size_t low, high;
};

/// Limit of the percentile bootstrap of the median for infinitely many resamples. A resample of n values has
/// its median at or below the k-th value if at least half of its draws are. Their number is binomial (n, k /
/// n). Source: Efron, "Bootstrap methods: another look at the jackknife", Annals of Statistics 1979, section
/// 3. Differs for even n: low and high take the lower and the upper of the two middle draws.
MedianRanks median_ranks(std::size_t count);

/// A median of values above zero, and its 95 % interval.
struct MedianInterval {
  double median = 0, low = 0, high = 0;
  /// Half width of the interval as a share of the median
  double noise() const { return (high - low) / 2 / median; }
};
/// Precondition: at least one value.
MedianInterval median_interval(std::vector<double> values);
/// MedianInterval::noise of median_interval(times).
double noise(std::vector<double> times);

/// Kendall's tau-b of two rankings of equally many things. It is 1 if every pair without a tie has the same
/// order in both, -1 if every such pair has opposite orders. NaN if one ranking orders nothing (fewer than
/// two values, or all equal). Sources: "A new measure of rank correlation", Biometrika 1938; for ties "The
/// treatment of ties in ranking problems", Biometrika 1945.
double kendall_tau(std::span<const double> a, std::span<const double> b);

}  // namespace penstock::core
