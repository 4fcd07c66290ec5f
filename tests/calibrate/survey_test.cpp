// A whole calibration of a scripted device, on which every kernel takes a millisecond.

#include "penstock/calibrate/survey.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>

#include "models/layers.hpp"
#include "penstock/core/error.hpp"
#include "penstock/kernels/graph_run.hpp"
#include "scripted.hpp"
#include "support/near.hpp"

using namespace penstock;
using calibrate::DeviceSurvey;
using calibrate::JobOutcome;
using calibrate::NamedModel;
using scripted::DeviceScript;

namespace {

constexpr auto kFp32 = cluster::Precision::fp32;

//  x --> a --> b --> c        a and b are equal
NamedModel three_layers() {
  models::Layers net("three");
  net.linear("c", net.linear("b", net.linear("a", net.input("x", {8}), 8), 8), 16);
  return {"three", {}, net.build()};
}

struct SurveyBench {
  DeviceScript script;
  scripted::Backend backend{script};
  scripted::Clock clock;
  std::vector<NamedModel> models = {three_layers()};
  cost::Calibration calibration;
  std::size_t rounds = 1;
  std::atomic<bool> stopped = false;

  calibrate::SurveyRequest request(core::Bytes memory = core::Bytes(1 << 20)) {
    return {.backend = backend,
            .peers = {[this] { return std::make_unique<scripted::Backend>(script); }},
            .clock = clock,
            .models = models,
            .memory = memory,
            .rule = {},
            .rounds = rounds,
            .most_samples = 2,
            .stop = core::StopToken(&stopped)};
  }
  calibrate::JobCallbacks watch() {
    return {[this] { return core::Seconds(script.now); }, [](const cost::Calibration&) {},
            [](const calibrate::JobProgress&) {}};
  }
  JobOutcome ceilings() {
    DeviceSurvey survey(request());
    return run_jobs(survey.ceilings(), calibration, {}, watch(), core::StopToken(&stopped));
  }
  JobOutcome measure(core::Bytes memory = core::Bytes(1 << 20)) {
    DeviceSurvey survey(request(memory));
    return run_jobs(survey.jobs(calibrate::roofline(calibration, kFp32)), calibration, {}, watch(),
                    core::StopToken(&stopped));
  }
};

}  // namespace

TEST_CASE("ceilings come first") {
  SurveyBench b;
  CHECK(b.ceilings().measured == 5);
  // copies half the megabyte, read and written, in a millisecond; the largest product is 2 * 8192^3 FLOP
  CHECK(b.calibration.ceilings.copy.value() == support::near(2 * (1 << 19) / 1e-3));
  CHECK(b.calibration.ceilings.matmul[0].value() == support::near(2 * 8192. * 8192 * 8192 / 1e-3));
  // an addition reads both and writes one; an update reads weights and gradient and writes both
  CHECK(b.calibration.ceilings.add.value() == support::near(3 * (1 << 19) / 1e-3));
  CHECK(b.calibration.ceilings.update.value() == support::near(4 * (1 << 19) / 1e-3));
  CHECK(b.calibration.launch_overhead.value() == support::near(1e-3));
}

// Training runs all of a but its input gradient, all of b and of c: 8 runs of a millisecond.
TEST_CASE("a model is run whole, and its kernels' times are added up") {
  SurveyBench b;
  b.ceilings();
  const JobOutcome out = b.measure();
  CHECK(out.refused.empty());
  REQUIRE(b.calibration.kernels.size() == 2);
  CHECK(b.calibration.kernels[0].points.size() == 6);  // three passes, one and two samples
  REQUIRE(b.calibration.models.size() == 1);
  const cost::ModelSum& sum = b.calibration.models[0];
  CHECK(sum.whole.median.value() == support::near(8e-3));
  CHECK(sum.back_to_back_sum.value() == support::near(8e-3));
  CHECK(sum.cold_sum.value() == support::near(8e-3));
}

TEST_CASE("the points of a kernel ascend, whatever the order they came in") {
  SurveyBench b;
  b.ceilings();
  b.measure();
  const auto& points = b.calibration.kernels[0].points;
  for (std::size_t i = 1; i < points.size(); ++i)
    CHECK(std::pair(points[i - 1].pass, points[i - 1].samples) <
          std::pair(points[i].pass, points[i].samples));
}

TEST_CASE("a measured point is not measured again") {
  SurveyBench b;
  b.ceilings();
  const JobOutcome first = b.measure(), second = b.measure();
  CHECK(second.measured == 0);
  CHECK(second.known == first.measured);
}

TEST_CASE("Ctrl-C within a kernel keeps the passes that are done") {
  SurveyBench b;
  b.ceilings();
  const int before = b.script.runs;
  b.script.duration = [&](const DeviceScript& s) {
    if (s.runs > before + 60)
      b.stopped = true;  // forward takes 3 + 10 runs, cold and not; so does each gradient
    return 1e-3;
  };
  CHECK(b.measure().interrupted);
  CHECK(b.calibration.kernels.at(0).points.size() == 2);
  b.stopped = false;
  b.script.duration = [](const DeviceScript&) { return 1e-3; };
  CHECK_FALSE(b.measure().interrupted);
  CHECK(b.calibration.kernels[0].points.size() == 6);
}

TEST_CASE("a model larger than memory is refused, its kernels are not") {
  SurveyBench b;
  b.ceilings();
  const core::Bytes needed = kernels::GraphRun::bytes(b.models[0].graph, 1);
  const JobOutcome out = b.measure(needed - core::Bytes(1));
  CHECK(b.calibration.models.empty());
  REQUIRE(out.refused.size() == 1);
  CHECK(out.refused[0].starts_with("model three: it takes "));
  b.measure(needed);
  CHECK(b.calibration.models.size() == 1);
}

TEST_CASE("no sum is made while a kernel is missing") {
  SurveyBench b;
  CHECK_FALSE(calibrate::kernel_sums(b.calibration, b.models[0].graph, 1, kFp32).has_value());
}

TEST_CASE("a kernel the device lacks is refused") {
  SurveyBench b;
  models::Layers net("soft");
  net.softmax("s", net.linear("a", net.input("x", {8}), 8));
  b.models = {{"soft", {}, net.build()}};
  b.ceilings();
  const JobOutcome out = b.measure();
  CHECK(std::ranges::count(out.refused, "softmax s x 1: no softmax here") == 1);
}

TEST_CASE("messages above a megabyte wait for all kernels, and further rounds for them") {
  SurveyBench b;
  b.rounds = 2;
  DeviceSurvey survey(b.request(core::Bytes(std::int64_t{1} << 30)));
  std::vector<std::string> order;
  for (const calibrate::CalibrationJob& job : survey.jobs({core::Bandwidth(1e10), core::FlopRate(1e11)}))
    order.push_back(job.name);
  const auto at = [&](const std::string& name) {
    const auto found = std::ranges::find(order, name);
    REQUIRE_MESSAGE(found != order.end(), name);
    return found - order.begin();
  };
  CHECK(at("linear a x 1") < at("model three"));
  CHECK(at("model three") < at("device_copy 1.00 MiB"));
  CHECK(at("device_copy 1.00 MiB") < at("linear a x 2"));
  CHECK(at("linear a x 2") < at("device_copy 2.00 MiB"));
  CHECK(at("device_copy 256 MiB") < at("round 2: linear a x 1"));
}

// The clock of the script is slow in every other run of a, until the machine calms down.
TEST_CASE("only noisy measurements are repeated") {
  SurveyBench b;
  b.ceilings();
  b.script.duration = [](const DeviceScript& s) { return s.runs % 2 == 0 ? 1e-3 : 2e-3; };
  b.measure();
  const auto roofline = calibrate::roofline(b.calibration, kFp32);
  DeviceSurvey survey(b.request());
  CHECK_FALSE(survey.repeats(b.calibration, roofline).empty());
  b.script.duration = [](const DeviceScript&) { return 1e-3; };
  for (int turn = 0; turn < 3; ++turn)
    run_jobs(survey.repeats(b.calibration, roofline), b.calibration, {}, b.watch(),
             core::StopToken(&b.stopped));
  CHECK(survey.repeats(b.calibration, roofline).empty());
  SurveyBench calm;
  calm.ceilings();
  calm.measure();
  CHECK(DeviceSurvey(calm.request()).repeats(calm.calibration, roofline).empty());
}

TEST_CASE("a budget shortens timings as little as it has to") {
  const auto estimate = [](const calibrate::SamplingRule& rule) { return rule.enough * 100; };
  CHECK(calibrate::rule_within(core::Seconds(50), {}, estimate).enough.value() == 0.5);
  CHECK(calibrate::rule_within(core::Seconds(49), {}, estimate).enough.value() == 0.25);
  CHECK(calibrate::rule_within(core::Seconds(1), {}, estimate).enough.value() == support::near(0.02));
}

// 10 timings and half a second: 4 of 3 rounds and a sixth; never fewer than 3
TEST_CASE("rounds divide what a point is owed") {
  CHECK(calibrate::divided({}, 3).least == 4);
  CHECK(calibrate::divided({}, 3).enough.value() == support::near(0.5 / 3));
  CHECK(calibrate::divided({}, 5).least == 3);
  CHECK(calibrate::divided({}, 1).least == 10);
}

TEST_CASE("a round in which the machine is slow changes no median") {
  SurveyBench b;
  b.ceilings();
  b.rounds = 1;
  b.measure();
  b.rounds = 2;
  b.script.duration = [](const DeviceScript&) { return 5e-3; };
  const JobOutcome second = b.measure();
  CHECK(second.measured == 4);  // two kernels at one and two samples
  b.rounds = 3;
  b.script.duration = [](const DeviceScript&) { return 1e-3; };
  b.measure();
  for (const cost::MeasuredKernel& kernel : b.calibration.kernels)
    for (const cost::KernelPoint& point : kernel.points) {
      REQUIRE(point.visits.size() == 3);
      CHECK(point.visits[1].cold.value() == support::near(5e-3));
      CHECK(point.cold.median.value() == support::near(1e-3));
      CHECK(point.cold.p90 > point.cold.median);
      CHECK(point.cold.count >= 3 * 10);
    }
  CHECK(b.measure().measured == 0);
}

// Both kernels take 1 ms, then 3 ms in a second round: 2 ms in the mean, and the model runs 8 of them.
TEST_CASE("sums of kernels follow from the points of further rounds") {
  SurveyBench b;
  b.ceilings();
  b.measure();
  b.rounds = 2;
  b.script.duration = [](const DeviceScript&) { return 3e-3; };
  b.measure();
  CHECK(b.calibration.models[0].cold_sum.value() == support::near(8e-3));
  calibrate::refresh_model_sums(b.calibration, b.models);
  CHECK(b.calibration.models[0].cold_sum.value() == support::near(16e-3));
  CHECK(b.calibration.models[0].back_to_back_sum.value() == support::near(16e-3));
}

TEST_CASE("link points are kept in order and fitted as they come") {
  cost::Calibration calibration;
  const auto add = [&](std::int64_t bytes) {
    const core::Seconds time(1e-6 + 1e-9 * static_cast<double>(bytes));
    calibrate::add_point(calibration, cost::LinkKind::device_copy, 1,
                         {core::Bytes(bytes), {time, time, time, 10, time, time}});
  };
  const auto noisy = [&](double low) {
    const core::Seconds time(9e-6), least(low);
    calibrate::add_point(calibration, cost::LinkKind::peer_copy, 2,
                         {core::Bytes(1024), {time, least, time, 10, least, time}});
    return calibration.links.back().points[0].time.low == least;
  };
  for (const std::int64_t bytes : {4096, 1024, 2048, 2048}) add(bytes);
  REQUIRE(calibration.links.size() == 1);
  CHECK(calibration.links[0].points.size() == 3);
  CHECK(calibration.links[0].points[0].bytes == core::Bytes(1024));
  REQUIRE(calibration.links[0].segments.size() == 1);
  CHECK(calibration.links[0].segments[0].per_byte.value == support::near(1e-9));
  CHECK(calibrate::has_point(calibration, cost::LinkKind::device_copy, 1, core::Bytes(2048)));
  CHECK_FALSE(calibrate::has_point(calibration, cost::LinkKind::device_copy, 2, core::Bytes(2048)));
  CHECK(noisy(4e-6));
  CHECK_FALSE(noisy(3e-6));  // of two timings the steadier stays
  CHECK(noisy(5e-6));
}
