#include "penstock/calibrate/statistics.hpp"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>

#include "penstock/core/error.hpp"

namespace penstock::calibrate {
namespace {

constexpr double kTail = 0.025;

/// How likely at least `least` of `count` draws are among the `lowest` values.
double at_least(std::size_t least, std::size_t lowest, std::size_t count) {
  const auto n = static_cast<double>(count);
  const boost::math::binomial draws(n, static_cast<double>(lowest) / n);
  return boost::math::cdf(boost::math::complement(draws, static_cast<double>(least) - 1));
}

/// The least k from 1 to `count` for which a resample's `least`-th value is among the k lowest as likely as
/// `share`.
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
  core::require(!sorted.empty(), "a quantile is of something");
  const double position = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const double over = position - static_cast<double>(below);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + over * (sorted[above] - sorted[below]);
}

Ranks median_ranks(std::size_t count) {
  const std::size_t lower = (count + 1) / 2, upper = count / 2 + 1;
  return {first_likely(lower, count, kTail) - 1, first_likely(upper, count, 1 - kTail) - 1};
}

double noise(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  const Ranks ranks = median_ranks(times.size());
  return (times[ranks.high] - times[ranks.low]) / 2 / quantile(times, 0.5);
}

cost::Timing summarise(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  const auto at = [&](double share) { return core::Seconds(quantile(times, share)); };
  const Ranks ranks = median_ranks(times.size());
  return {at(0.5),
          at(0.1),
          at(0.9),
          std::ssize(times),
          core::Seconds(times[ranks.low]),
          core::Seconds(times[ranks.high])};
}

}  // namespace penstock::calibrate
