#include "penstock/calibrate/verify.hpp"

#include <doctest/doctest.h>

#include "scripted.hpp"
#include "support/small_calibration.hpp"

using namespace penstock;
using calibrate::KernelRecheck;
using scripted::DeviceScript;

namespace {

/// One linear layer with a forward point for each time.
cost::Calibration measured(const std::vector<double>& times) {
  cost::Calibration out = support::bare_calibration();
  cost::MeasuredKernel kernel{
      {graph::OpKind::linear, {{"rows", 1}, {"in", 8}, {"out", 16}}, cluster::Precision::fp32}, {}, {}};
  for (std::size_t i = 0; i < times.size(); ++i)
    kernel.points.push_back(support::point(graph::Pass::forward, static_cast<std::int64_t>(i) + 1, times[i]));
  out.kernels = {kernel};
  return out;
}

std::vector<double> before(const std::vector<KernelRecheck>& points) {
  std::vector<double> out;
  for (const KernelRecheck& point : points) out.push_back(point.before.median.value());
  return out;
}

/// Four points of a millisecond, timed again on a device that takes `seconds`.
std::vector<KernelRecheck> rechecked(double seconds) {
  DeviceScript script;
  script.duration = [=](const DeviceScript&) { return seconds; };
  scripted::Backend backend(script);
  scripted::Stream stream(script);
  scripted::Clock clock;
  calibrate::Stopwatch stopwatch(stream, clock, {});
  auto points = calibrate::choose_points(measured({1e-3, 1e-3, 1e-3, 1e-3}), 4);
  calibrate::recheck(points, backend, stream, stopwatch);
  return points;
}

}  // namespace

TEST_CASE("points are chosen evenly from the shortest to the longest, below a second") {
  const auto calibration = measured({6e-3, 1e-3, 2, 5e-3, 2e-3, 4e-3, 3e-3});
  CHECK(before(calibrate::choose_points(calibration, 3)) == std::vector<double>{2e-3, 4e-3, 6e-3});
  CHECK(before(calibrate::choose_points(calibration, 1)) == std::vector<double>{4e-3});
  CHECK(calibrate::choose_points(calibration, 100).size() == 6);
  CHECK(calibrate::choose_points({}, 3).empty());
}

TEST_CASE("a device that does as before has not drifted") {
  CHECK_FALSE(drifted(rechecked(1e-3)));
  CHECK_FALSE(drifted(rechecked(1.099e-3)));
  CHECK_FALSE(drifted(rechecked(0.901e-3)));
}

TEST_CASE("a device that is a tenth slower or faster has") {
  CHECK(drifted(rechecked(1.101e-3)));
  CHECK(drifted(rechecked(0.899e-3)));
}

TEST_CASE("a change that noise may explain is not off") {
  KernelRecheck point;
  point.before = support::timing(1e-3);
  point.now = support::timing(1.2e-3);
  CHECK(point.off());
  point.now.low = core::Seconds(1.01e-3);  // within the old p90 of 1.02 ms
  CHECK_FALSE(point.off());
  point.now = support::timing(0.8e-3);
  point.before.p10 = core::Seconds(0.8e-3);
  CHECK_FALSE(point.off());
}

TEST_CASE("one point in four may be off") {
  auto points = rechecked(1e-3);
  points[0].now = support::timing(2e-3);
  CHECK_FALSE(drifted(points));
  points[1].now = support::timing(2e-3);
  CHECK(drifted(points));
}
