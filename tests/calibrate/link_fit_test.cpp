#include "penstock/calibrate/link_fit.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "penstock/core/random.hpp"
#include "support/near.hpp"

using namespace penstock;
using core::Bytes;
using core::Seconds;

namespace {

struct LinePiece {
  double latency, per_byte;
};

/// Sizes from 1 KiB on, doubled; the first `early` of them on one line, the others on the next; noise by
/// seed.
std::vector<cost::LinkPoint> points(LinePiece a, int early, LinePiece b, int count, double noise = 0,
                                    std::uint64_t seed = 1) {
  core::Random random(seed);
  std::vector<cost::LinkPoint> out;
  for (int i = 0; i < count; ++i) {
    const LinePiece& piece = i < early ? a : b;
    const std::int64_t bytes = std::int64_t{1024} << i;
    const double exact = piece.latency + piece.per_byte * static_cast<double>(bytes);
    const Seconds time(exact * (1 + noise * (2 * random.unit() - 1)));
    out.push_back({Bytes(bytes), {time, time, time, 10, time, time}});
  }
  return out;
}

std::vector<cost::LinkPoint> line(LinePiece a, int count, double noise = 0, std::uint64_t seed = 1) {
  return points(a, count, a, count, noise, seed);
}

}  // namespace

TEST_CASE("points on a line give that line, in one segment without doubt") {
  const auto fit = calibrate::fit_link(line({5e-6, 1e-10}, 21), 1);
  REQUIRE(fit.size() == 1);
  CHECK(fit[0].from == Bytes(1024));
  CHECK(fit[0].to == Bytes(1 << 30));
  CHECK(fit[0].latency.value == support::near(5e-6));
  CHECK(fit[0].per_byte.value == support::near(1e-10));
  CHECK(fit[0].latency.high - fit[0].latency.low < 1e-10);
}

TEST_CASE("a switch of protocol is found where it is") {
  const auto fit = calibrate::fit_link(points({1e-6, 4e-10}, 8, {20e-6, 5e-11}, 21), 1);
  REQUIRE(fit.size() == 2);
  CHECK(fit[0].to == Bytes(1024 << 7));
  CHECK(fit[1].from == Bytes(1024 << 8));
  CHECK(fit[0].per_byte.value == support::near(4e-10));
  CHECK(fit[1].latency.value == support::near(20e-6));
  CHECK(fit[1].per_byte.value == support::near(5e-11));
}

TEST_CASE("noise is no reason for another segment, and its interval holds the truth") {
  int one = 0, held = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const auto fit = calibrate::fit_link(line({5e-6, 1e-10}, 21, 0.03, seed), seed);
    one += fit.size() == 1;
    held += fit[0].latency.low <= 5e-6 && 5e-6 <= fit[0].latency.high;
    for (const auto& segment : fit) {
      CHECK(segment.latency.low <= segment.latency.value);
      CHECK(segment.latency.value <= segment.latency.high);
    }
  }
  CHECK(one >= 40);
  CHECK(held >= 40);
}

// All sizes have the same weight: 2 % off at a kilobyte weighs as much as 2 % off at a gigabyte.
TEST_CASE("small messages are fitted as well as large ones") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto measured = line({5e-6, 1e-10}, 21, 0.02, seed);
    const auto fit = calibrate::fit_link(measured, 1);
    const double first = fit[0].latency.value + fit[0].per_byte.value * 1024;
    CHECK(first == support::near(measured[0].time.median.value(), 0.05));
  }
}

TEST_CASE("times that fall as messages grow have no negative slope") {
  const auto fit = calibrate::fit_link(line({1e-5, -1e-12}, 6), 1);
  for (const auto& segment : fit) CHECK(segment.per_byte.value >= 0);
}

// On a loaded machine the largest messages may take longer than in proportion.
TEST_CASE("no latency is negative: such points lie on the best line through nothing") {
  const std::vector<cost::LinkPoint> steep = line({-1e-7, 1e-10}, 6);
  const auto fit = calibrate::fit_link({steep.begin() + 2, steep.end()}, 1);
  REQUIRE(fit.size() == 1);
  CHECK(fit[0].latency.value == 0);
  CHECK(fit[0].latency.low == 0);
  CHECK(fit[0].latency.high < 1e-7);
  CHECK(fit[0].per_byte.value > 0.8e-10);
  CHECK(fit[0].per_byte.value < 1e-10);
  for (std::uint64_t seed = 1; seed <= 200; ++seed)
    for (const auto& segment : calibrate::fit_link(line({0, 1e-10}, 9, 0.5, seed), seed)) {
      CHECK(segment.latency.low >= 0);
      CHECK(segment.per_byte.low >= 0);
    }
}

TEST_CASE("three points make a segment, two do not") {
  CHECK(calibrate::fit_link(line({5e-6, 1e-10}, 3), 1).size() == 1);
  CHECK(calibrate::fit_link(line({5e-6, 1e-10}, 2), 1).empty());
  CHECK(calibrate::fit_link({}, 1).empty());
}

TEST_CASE("a fit is the same for the same points and seed") {
  const auto measured = line({5e-6, 1e-10}, 12, 0.05);
  const auto a = calibrate::fit_link(measured, 9), b = calibrate::fit_link(measured, 9);
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i].latency.low == b[i].latency.low);
    CHECK(a[i].per_byte.high == b[i].per_byte.high);
  }
}

TEST_CASE("one line through everything has neither a negative latency nor a negative slope") {
  const auto exact = calibrate::fit_line(points({5e-6, 1e-10}, 20, {}, 20));
  REQUIRE(exact);
  CHECK(exact->latency == support::near(5e-6));
  CHECK(exact->per_byte == support::near(1e-10));
  // 1 KiB in 1 us and 2 KiB in 3 us are a line that crosses zero bytes at -1 us. The best slope without a
  // latency makes (s b / t - 1) least: ratios b / t of 1024 and 683 MB/s.
  const auto at = [](std::int64_t bytes, double time) {
    const Seconds t(time);
    return cost::LinkPoint{Bytes(bytes), {t, t, t, 10, t, t}};
  };
  const double a = 1024 / 1e-6, b = 2048 / 3e-6;
  const auto steep = calibrate::fit_line(std::vector{at(1024, 1e-6), at(2048, 3e-6)});
  REQUIRE(steep);
  CHECK(steep->latency == 0);
  CHECK(steep->per_byte == support::near((a + b) / (a * a + b * b)));
  CHECK(calibrate::fit_line(std::vector{at(1000, 1e-6)})->per_byte == support::near(1e-9));
  CHECK_FALSE(calibrate::fit_line(std::vector{at(1024, 3e-6), at(2048, 1e-6)}));
  CHECK_FALSE(calibrate::fit_line({}));
}
