#include "penstock/calibrate/statistics.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "penstock/core/random.hpp"

using namespace penstock;
using calibrate::median_ranks;
using calibrate::quantile;
using calibrate::summarise;

namespace {

/// Slow twin: the 2.5 % and 97.5 % quantile of the medians of many resamples of 0, 1, ..., n - 1; n odd.
std::pair<double, double> resampled_ranks(int n, std::uint64_t seed) {
  core::Random random(seed);
  std::vector<double> medians;
  for (int resample = 0; resample < 20'000; ++resample) {
    std::vector<int> drawn;
    for (int i = 0; i < n; ++i) drawn.push_back(random.between(0, n - 1));
    std::nth_element(drawn.begin(), drawn.begin() + n / 2, drawn.end());
    medians.push_back(drawn[static_cast<std::size_t>(n / 2)]);
  }
  std::sort(medians.begin(), medians.end());
  return {medians[medians.size() / 40], medians[medians.size() - medians.size() / 40]};
}

}  // namespace

TEST_CASE("quantiles lie on the line between order statistics") {
  const std::vector<double> four = {1, 2, 4, 8};
  CHECK(quantile(four, 0) == 1);
  CHECK(quantile(four, 1) == 8);
  CHECK(quantile(four, 0.5) == 3);                             // half way from 2 to 4
  CHECK(quantile(four, 0.9) == doctest::Approx(4 + 0.7 * 4));  // position 2.7 of 0 .. 3
  CHECK(quantile(std::vector<double>{5}, 0.3) == 5);
}

TEST_CASE("a summary does not depend on the order of its times") {
  const cost::Timing t = summarise({3, 1, 2, 5, 4});
  CHECK(t.median.value() == 3);
  CHECK(t.p10.value() == doctest::Approx(1.4));  // position 0.4
  CHECK(t.p90.value() == doctest::Approx(4.6));
  CHECK(t.count == 5);
  CHECK(t.low.value() == 1);
  CHECK(t.high.value() == 5);
}

TEST_CASE("a single time is its own interval") {
  const cost::Timing t = summarise({2.5});
  for (const core::Seconds s : {t.median, t.p10, t.p90, t.low, t.high}) CHECK(s.value() == 2.5);
}

TEST_CASE("the interval of the median is what resampling comes to") {
  for (const int n : {5, 11, 25, 101}) {
    CAPTURE(n);
    const auto [low, high] = resampled_ranks(n, 17);
    const auto ranks = median_ranks(static_cast<std::size_t>(n));
    CHECK(std::abs(static_cast<double>(ranks.low) - low) <= 1);  // draws decide between neighbours
    CHECK(std::abs(static_cast<double>(ranks.high) - high) <= 1);
  }
}

TEST_CASE("the interval lies evenly about the middle, and covers about two roots of n") {
  for (std::size_t n = 1; n < 300; ++n) {
    const auto ranks = median_ranks(n);
    CHECK(ranks.low + ranks.high == n - 1);
    CHECK(ranks.low <= (n - 1) / 2);
  }
  const auto ranks = median_ranks(10'000);  // 1.96 * sqrt(10,000) = 196 ranks wide
  CHECK(std::abs(static_cast<double>(ranks.high - ranks.low) - 196) < 3);
}

TEST_CASE("noise is half the interval as share of the median") {
  CHECK(calibrate::noise({9, 10, 10, 10, 11}) ==
        doctest::Approx(0.1));  // of five, all of them: (11 - 9) / 2 / 10
  CHECK(calibrate::noise({7, 7, 7}) == 0);
}
