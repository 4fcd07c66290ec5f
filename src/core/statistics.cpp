#include "penstock/core/statistics.hpp"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <utility>

#include "penstock/core/error.hpp"

namespace penstock::core {
namespace {

constexpr double kTail = 0.025;

int sign(double x) {
  return (x > 0) - (x < 0);
}

/// Probability that at least `least` of `count` draws are among the `lowest` values.
double at_least(std::size_t least, std::size_t lowest, std::size_t count) {
  const auto n = static_cast<double>(count);
  const boost::math::binomial draws(n, static_cast<double>(lowest) / n);
  return boost::math::cdf(boost::math::complement(draws, static_cast<double>(least) - 1));
}

/// Smallest k from 1 to `count` such that the `least`-th value of a resample is among the k lowest with
/// probability `share` or more.
std::size_t first_likely(std::size_t least, std::size_t count, double share) {
  std::size_t low = 1, high = count;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (at_least(least, middle, count) >= share)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

}  // namespace

double quantile(std::span<const double> sorted, double share) {
  require(!sorted.empty(), "a quantile is of something");
  const double position = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const double over = position - static_cast<double>(below);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + over * (sorted[above] - sorted[below]);
}

MedianRanks median_ranks(std::size_t count) {
  const std::size_t lower = (count + 1) / 2, upper = count / 2 + 1;
  return {first_likely(lower, count, kTail) - 1, first_likely(upper, count, 1 - kTail) - 1};
}

MedianInterval median_interval(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const MedianRanks ranks = median_ranks(values.size());
  return {quantile(values, 0.5), values[ranks.low], values[ranks.high]};
}

double noise(std::vector<double> times) {
  return median_interval(std::move(times)).noise();
}

double kendall_tau(std::span<const double> a, std::span<const double> b) {
  require(a.size() == b.size(), "two rankings are of the same things");
  double together = 0, pairs_a = 0, pairs_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const int by_a = sign(a[i] - a[j]), by_b = sign(b[i] - b[j]);
      together += by_a * by_b;
      pairs_a += by_a * by_a;
      pairs_b += by_b * by_b;
    }
  return together / std::sqrt(pairs_a * pairs_b);
}

}  // namespace penstock::core
