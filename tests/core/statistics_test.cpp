#include "penstock/core/statistics.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "penstock/core/random.hpp"
#include "support/near.hpp"

using namespace penstock;
using core::median_ranks;
using core::quantile;

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

/// Slow twin, as tables of ranks are counted by hand. Pairs in the same order minus pairs ordered against
/// each other, by the geometric mean of the pairs that a and those that b do not tie.
double counted_tau(const std::vector<double>& a, const std::vector<double>& b) {
  int alike = 0, against = 0, tied_a = 0, tied_b = 0, pairs = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = i + 1; j < a.size(); ++j, ++pairs) {
      if (a[i] == a[j]) ++tied_a;
      if (b[i] == b[j]) ++tied_b;
      if (a[i] == a[j] || b[i] == b[j]) continue;
      ++((a[i] < a[j]) == (b[i] < b[j]) ? alike : against);
    }
  return (alike - against) / std::sqrt(static_cast<double>(pairs - tied_a) * (pairs - tied_b));
}

}  // namespace

TEST_CASE("quantiles lie on the line between order statistics") {
  const std::vector<double> four = {1, 2, 4, 8};
  CHECK(quantile(four, 0) == 1);
  CHECK(quantile(four, 1) == 8);
  CHECK(quantile(four, 0.5) == 3);                           // half way from 2 to 4
  CHECK(quantile(four, 0.9) == support::near(4 + 0.7 * 4));  // position 2.7 of 0 .. 3
  CHECK(quantile(std::vector<double>{5}, 0.3) == 5);
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
  CHECK(core::noise({9, 10, 10, 10, 11}) == support::near(0.1));  // of five, all of them: (11 - 9) / 2 / 10
  CHECK(core::noise({7, 7, 7}) == 0);
}

TEST_CASE("Kendall's tau counts pairs in and out of order") {
  const std::vector<double> up = {1, 2, 3, 4};
  CHECK(core::kendall_tau(up, up) == 1);
  CHECK(core::kendall_tau(up, std::vector<double>{9, 8, 7, 6}) == -1);
  CHECK(core::kendall_tau(up, std::vector<double>{1, 3, 2, 4}) ==
        support::near(4. / 6));  // one of six swapped
  // Five pairs in the same order, one tied in b: 5 / sqrt(6 * 5).
  CHECK(core::kendall_tau(up, std::vector<double>{1, 2, 2, 3}) == support::near(5 / std::sqrt(30.)));
}

TEST_CASE("rankings without a ranked pair have no tau") {
  CHECK(std::isnan(core::kendall_tau({}, {})));
  CHECK(std::isnan(core::kendall_tau(std::vector<double>{1}, std::vector<double>{1})));
  CHECK(std::isnan(core::kendall_tau(std::vector<double>{1, 2}, std::vector<double>{3, 3})));
}

TEST_CASE("tau of random rankings with ties is the count of their pairs") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    core::Random random(seed);
    std::vector<double> a = {0, 1}, b = {0, 1};  // never all equal
    for (int n = random.between(0, 20); n > 0; --n) {
      a.push_back(random.between(0, 6));
      b.push_back(random.between(0, 6));
    }
    CHECK(core::kendall_tau(a, b) == support::near(counted_tau(a, b)));
  }
}
