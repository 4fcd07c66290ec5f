#pragma once
// What repeated timings say, and whether two rankings agree.

#include <cstddef>
#include <span>
#include <vector>

namespace penstock::core {

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

/// A median and its 95 % interval, of values above zero.
struct Interval {
  double median = 0, low = 0, high = 0;
  double noise() const { return (high - low) / 2 / median; }  ///< how well it is known, as share of it
};
/// At least one value.
Interval median_interval(std::vector<double> values);
/// Of median_interval.
double noise(std::vector<double> times);

/// Kendall's tau-b of two rankings of the same things ("A new measure of rank correlation", Biometrika 1938;
/// ties as in "The treatment of ties in ranking problems", Biometrika 1945): 1 where every pair that neither
/// ties is ordered alike, -1 where none is. As many values in both. NaN where one ranks nothing: fewer than
/// two values, or all equal.
double kendall_tau(std::span<const double> a, std::span<const double> b);

}  // namespace penstock::core
