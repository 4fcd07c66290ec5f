#include "sim/tasks/speed.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "penstock/core/random.hpp"

using namespace penstock;
using sim::SpeedProfile;

TEST_CASE("a quarter of the speed from 10 to 50 ps") {
  SpeedProfile speed;
  speed.change(10, 0.25);
  speed.change(50, 1);
  CHECK(speed.finish(0, 10) == 10);  // done when it begins
  CHECK(speed.finish(0, 11) == 14);  // one more takes four
  CHECK(speed.finish(0, 20) == 50);  // ten within: all of it
  CHECK(speed.finish(0, 21) == 51);
  CHECK(speed.finish(30, 10) == 55);  // five within, five after
  CHECK(speed.finish(50, 10) == 60);
  CHECK(speed.finish(9, 0) == 9);
}

TEST_CASE("the last of several changes at one moment counts") {
  SpeedProfile speed;
  speed.change(10, 0.25);
  speed.change(20, 1);
  speed.change(20, 2);
  CHECK(speed.finish(20, 10) == 25);
}

TEST_CASE("work pauses at speed zero, and never ends if that lasts") {
  SpeedProfile speed;
  speed.change(10, 0);
  speed.change(30, 1);
  speed.change(40, 0);
  CHECK(speed.finish(5, 10) == 35);
  CHECK(speed.finish(5, 15) == 40);
  CHECK(speed.finish(5, 16) == SpeedProfile::kNever);
  CHECK(speed.finish(50, 0) == 50);
}

TEST_CASE("work at full speed is exact where doubles are not") {
  SpeedProfile speed;
  const std::int64_t odd = (std::int64_t{1} << 60) + 1;
  speed.change(odd + 7, 0.5);
  CHECK(speed.finish(3, odd) == odd + 3);
}

TEST_CASE("random speeds: the slow twin works picosecond by picosecond") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    core::Random random(seed);
    std::vector<double> at(3000, 1);
    SpeedProfile speed;
    for (int t = random.between(0, 100); t < 1000; t += random.between(1, 300)) {
      const double value = random.between(0, 8) * 0.3;
      speed.change(t, value);
      for (std::size_t s = static_cast<std::size_t>(t); s < at.size(); ++s) at[s] = value;
    }
    speed.change(1000, 1);
    for (std::size_t s = 1000; s < at.size(); ++s) at[s] = 1;
    const int start = random.between(0, 800), work = random.between(1, 1000);
    double left = work;
    auto t = static_cast<std::size_t>(start);
    for (; left > at[t] + 1e-9; ++t) left -= at[t];
    const double end = static_cast<double>(t) + left / at[t];
    CHECK(std::abs(static_cast<double>(speed.finish(start, work)) - end) <= 0.5 + 1e-6);
  }
}
