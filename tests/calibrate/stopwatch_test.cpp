// Time comes from a script: noise, outliers, drift and throttling without a wait.

#include "penstock/calibrate/stopwatch.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "scripted.hpp"
#include "support/near.hpp"

using namespace penstock;
using calibrate::Stopwatch;
using scripted::DeviceScript;

namespace {

struct StopwatchBench {
  explicit StopwatchBench(std::deque<double> shares = {}) : clock(std::move(shares)) {}
  DeviceScript script;
  scripted::Stream stream{script};
  scripted::Clock clock;
  Stopwatch stopwatch{stream, clock, {}};
  calibrate::Body body = [this] { script.run(); };
};

double us(core::Seconds time) {
  return time.value() * 1e6;
}

}  // namespace

TEST_CASE("cold times follow an eviction each, back-to-back times none") {
  StopwatchBench b;
  b.script.duration = [](const DeviceScript& s) { return s.cold ? 5e-3 : 1e-3; };
  CHECK(us(b.stopwatch.cold(b.body).median) == support::near(5000));
  CHECK(b.script.evictions == 10);
  CHECK(us(b.stopwatch.back_to_back(b.body).median) == support::near(1000));
  CHECK(b.script.evictions == 10);
}

TEST_CASE("short work is bundled, and the bundle's time divided") {
  StopwatchBench b;
  b.script.duration = [](const DeviceScript&) { return 3e-6; };
  CHECK(us(b.stopwatch.back_to_back(b.body).median) == support::near(3));
  CHECK(b.script.bundles == std::vector<int>{67});  // 200 us / 3 us, rounded up
  b.script.duration = [](const DeviceScript&) { return 20e-6; };
  b.stopwatch.back_to_back(b.body);
  CHECK(b.script.bundles.size() == 1);  // 20 us are long enough
  CHECK(us(b.stopwatch.unbundled(b.body).median) == support::near(20));
}

// 64, 32, 16, 8, 4, 2, 1, 1, 1: six halvings, then two runs that gain nothing.
TEST_CASE("warm-up ends when runs gain no more") {
  StopwatchBench b;
  b.script.duration = [](const DeviceScript& s) { return std::max(1e-3, 64e-3 * std::pow(0.5, s.runs)); };
  CHECK(us(b.stopwatch.warm_up(b.body)) == support::near(1000));
  CHECK(b.script.runs == 9);
}

TEST_CASE("a device that gets faster for ever is warm after twenty runs") {
  StopwatchBench b;
  b.script.duration = [](const DeviceScript& s) { return 1e-3 * std::pow(0.9, s.runs); };
  b.stopwatch.warm_up(b.body);
  CHECK(b.script.runs == 20);
}

TEST_CASE("slow work is warm when a fifth of a second is over") {
  StopwatchBench b;
  b.script.duration = [](const DeviceScript& s) { return 0.15 * std::pow(0.9, s.runs); };
  b.stopwatch.warm_up(b.body);
  CHECK(b.script.runs == 2);
}

TEST_CASE("outliers widen p90, not the median") {
  StopwatchBench b;
  b.script.duration = [](const DeviceScript& s) {
    return s.runs % 7 == 0 ? 50e-3 : 1e-3 * (1 + 0.01 * (s.runs % 3));
  };
  const cost::TimingSummary t = b.stopwatch.unbundled(b.body);
  CHECK(us(t.median) == support::near(1010, 0.011));
  CHECK(us(t.p90) > 10'000);
}

TEST_CASE("drift shows in the interval") {
  StopwatchBench b;
  b.script.duration = [](const DeviceScript& s) { return 1e-3 * (1 + 1e-2 * s.runs); };
  const cost::TimingSummary t = b.stopwatch.unbundled(b.body);
  CHECK(t.count > 100);  // the noise criterion is not met early
  CHECK(t.p90 / t.p10 > 1.2);
}

// The device is slow while its clock is at half: those timings go, the full clock's stay.
TEST_CASE("throttled timings are thrown away") {
  StopwatchBench b({1.0, 0.5, 0.5, 0.5, 1.0});
  b.script.duration = [](const DeviceScript& s) {
    return s.runs >= 4 && s.runs <= 6 ? 2e-3 : 1e-3;
  };  // after three runs of warm-up
  const cost::TimingSummary t = b.stopwatch.unbundled(b.body);
  CHECK(us(t.p90) == support::near(1000));
  CHECK(t.count == 10);
}

TEST_CASE("the clock that keeps a timing is three quarters of the full one") {
  StopwatchBench just({0.75}), below({0.7499});
  just.stopwatch.unbundled(just.body);
  below.stopwatch.unbundled(below.body);
  CHECK(just.stopwatch.rejected() == 0);
  CHECK(below.stopwatch.rejected() == 50);  // then it is taken as it is
}

TEST_CASE("Ctrl-C ends a measurement") {
  const std::atomic<bool> stopped = true;
  DeviceScript script;
  scripted::Stream stream(script);
  scripted::Clock clock;
  Stopwatch stopwatch(stream, clock, {}, core::StopToken(&stopped));
  CHECK_THROWS_AS(stopwatch.cold([&] { script.run(); }), core::InterruptedError);
  CHECK(script.runs == 0);
}
