// Kernels beside busy neighbours, on threads of the host: that they are timed, not how long they take.

#include "penstock/calibrate/crowding.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "penstock/calibrate/ceilings.hpp"
#include "penstock/calibrate/survey.hpp"
#include "penstock/core/error.hpp"
#include "penstock/cost/crowding.hpp"
#include "penstock/kernels/devices.hpp"
#include "scripted.hpp"
#include "support/near.hpp"
#include "support/small_calibration.hpp"

using namespace penstock;
using calibrate::CrowdingCase;

namespace {

constexpr core::Bytes kMemory(std::int64_t{1} << 26), kLittle(1 << 16);
constexpr core::Bandwidth kCopy(2e10);

struct CrowdingBench {
  std::vector<calibrate::RankBackend> ranks =
      calibrate::open_ranks(3, [] { return kernels::open_device("host", 1); });
  scripted::Clock clock;
  calibrate::LinkBench bench{ranks, clock, {.least = 1, .enough = core::Seconds(0), .noise = 1}, {}};
  cost::CrowdingTest time(const CrowdingCase& asked, core::Bytes memory = kMemory) {
    return time_crowding(bench, asked, cluster::Precision::fp32, kCopy, memory);
  }
};

cost::CrowdingTest measured(const std::string& kernel, const std::string& beside, int neighbours,
                            double slowdown) {
  return {kernel,
          0.5,
          beside,
          neighbours,
          support::timing(1),
          support::timing(slowdown),
          {slowdown, slowdown, slowdown}};
}

}  // namespace

TEST_CASE("a kernel is timed with and without neighbours, equally often") {
  CrowdingBench b;
  for (const CrowdingCase& asked :
       {CrowdingCase{"addition", "addition", 2}, CrowdingCase{"product", "addition", 1},
        CrowdingCase{"addition", "product", 1}}) {
    CAPTURE(asked.kernel);
    const cost::CrowdingTest test = b.time(asked);
    CHECK(test.kernel == asked.kernel);
    CHECK(test.beside == asked.beside);
    CHECK(test.neighbours == asked.neighbours);
    CHECK(test.alone.count == test.crowded.count);
    CHECK(test.slowdown.value > 0);
    CHECK(test.slowdown.low <= test.slowdown.high);
  }
}

TEST_CASE("an addition is at the memory all the time, a product for its three matrices") {
  CrowdingBench b;
  CHECK(b.time({"addition", "product", 1}).memory_share == 1);
  const cost::CrowdingTest product = b.time({"product", "product", 1});
  const double moving = 3 * 1024. * 1024 * 4 / kCopy.value();
  CHECK(product.memory_share == support::near(std::min(1.0, moving / product.alone.median.value())));
}

TEST_CASE("kernels without room are refused, additions become smaller") {
  CrowdingBench b;
  CHECK_THROWS_AS(b.time({"product", "addition", 1}, kLittle), core::BadInput);
  CHECK(b.time({"addition", "addition", 1}, kLittle).memory_share == 1);
}

TEST_CASE("products and additions are tried beside any number, the others beside one and all") {
  std::set<int> corners, others;
  for (const CrowdingCase& asked : calibrate::crowding_cases(5))
    (asked.kernel == "product" || asked.kernel == "addition" ? corners : others).insert(asked.neighbours);
  CHECK(corners == std::set<int>{1, 2, 3, 4});
  CHECK(others == std::set<int>{1, 4});
  CHECK(calibrate::crowding_cases(1).empty());
  CHECK(calibrate::crowding_cases(2).size() == 2 * calibrate::crowding_kernels().size());
}

TEST_CASE("simulations use products and additions, up to the measured number of neighbours") {
  const std::vector<cost::CrowdingTest> tests = {
      measured("addition", "addition", 2, 3), measured("addition", "addition", 1, 2),
      measured("addition", "addition", 4, 9), measured("norm", "addition", 1, 5)};
  const cost::CrowdingSlowdown rule = cost::crowding(tests);
  CHECK(rule.slowdown(1, 1, 1) == support::near(2));
  CHECK(rule.slowdown(1, 2, 2) == support::near(3));
  CHECK(rule.slowdown(1, 4, 4) == support::near(5));  // three were not measured: the line goes on
  CHECK(cost::predicted_slowdown(rule, tests[3]) == support::near(1.5));
  CHECK(cost::crowding({}).empty());
}

TEST_CASE(
    "a survey measures crowding where it has neighbours, and launches in graphs where there are graphs") {
  scripted::DeviceScript script;
  scripted::Backend backend(script);
  scripted::Clock clock;
  const std::vector<calibrate::NamedModel> models;
  const auto open = [&] { return std::make_unique<scripted::Backend>(script); };
  calibrate::SurveyRequest request{
      .backend = backend, .peers = {open, open}, .clock = clock, .models = models, .rule = {}, .stop = {}};
  const auto names = [&](bool neighbours, bool host) {
    request.neighbours = neighbours;
    request.host = host;
    calibrate::DeviceSurvey survey(request);
    std::vector<std::string> out;
    for (const auto& jobs : {survey.ceilings(), survey.jobs({kCopy, core::FlopRate(1e12)})})
      for (const calibrate::CalibrationJob& job : jobs) out.push_back(job.name);
    return out;
  };
  const auto has = [](const std::vector<std::string>& all, const char* name) {
    return std::ranges::count(all, name) == 1;
  };
  CHECK(has(names(true, true), "addition beside 1 x product"));
  CHECK(!has(names(false, true), "addition beside 1 x product"));
  CHECK(!has(names(true, true), "launch in a graph"));
  CHECK(has(names(true, false), "launch in a graph"));
}

TEST_CASE("a launch in a graph is its share of a thousand") {
  scripted::DeviceScript script;
  scripted::Backend backend(script);
  scripted::Clock clock;
  const auto stream = backend.make_stream();
  calibrate::Stopwatch stopwatch(*stream, clock, {});
  CHECK(graph_launch(backend, *stream, stopwatch).value() == support::near(1e-3));
  CHECK(script.bundles == std::vector<int>{1000});
}
