#include "penstock/cost/profile.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "penstock/core/error.hpp"
#include "support/near.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using core::OpId;

namespace {

const std::string kProfile =
    "penstock_profile: 1\n"
    "device: V100\n"
    "operators:\n"
    "  a: {forward: {1: 1ms, 4: 2ms, 8: 4ms}, backward: {1: 2ms}}\n"
    "  b: {total: {2: 3ms}}\n";

std::string fault_of(const std::string& text) {
  try {
    cost::parse_profile(text, "p.yaml");
  } catch (const core::BadInput& e) {
    return e.what();
  }
  return "no fault";
}

bool relative(core::Seconds time, double expected) {
  return std::abs(time.value() - expected) <= 1e-12 * expected;
}

}  // namespace

TEST_CASE("profiled times are interpolated between batch sizes") {
  const auto g = support::tiny_graph(3, {{0, 1}});
  const auto profile = cost::parse_profile(kProfile, "p.yaml");
  const cluster::DeviceType any{};
  const auto ms = [&](std::size_t op, std::int64_t n) {
    return profile.op_time(g, OpId(op), any, n).forward.value() * 1e3;
  };
  CHECK(ms(0, 1) == support::near(1));
  CHECK(ms(0, 2) == support::near(1 + 1.0 / 3));  // a third of the way from 1 to 4 samples
  CHECK(ms(0, 6) == support::near(3));
  CHECK(ms(0, 16) == support::near(8));  // slope of the last two points: 0.5 ms per sample
  CHECK(ms(1, 4) == support::near(2));   // a third of 3 ms, for twice the samples
  CHECK(profile.op_time(g, OpId(0), any, 4).backward().value() == support::near(8e-3));
  CHECK_THROWS_AS(profile.op_time(g, OpId(2), any, 1), core::BadInput);
}

// a: 1 to 4 samples from 1 to 2 ms, so two thirds of a millisecond whatever the samples. Of b only 2 samples
// are known: 1 ms forward, 2 ms backward.
TEST_CASE("below the smallest batch a fixed part remains, and the rest is in proportion") {
  const auto g = support::tiny_graph(3, {{0, 1}});
  const auto from = [&](const std::string& text, double launch) {
    const auto profile = cost::parse_profile("penstock_profile: 1\ndevice: d\noperators:\n  a: " + text, "p");
    cluster::DeviceType device{};
    device.launch_overhead = core::Seconds(launch);
    return profile.op_time(g, OpId(0), device, 1);
  };
  // the line through 4 and 8 samples gives 2 ms for none
  CHECK(relative(from("{forward: {4: 4ms, 8: 6ms}, backward: {4: 4ms, 8: 6ms}}", 9).forward, 2.5e-3));
  // through 2 and 4 it gives less than nothing: in proportion
  CHECK(relative(from("{forward: {2: 1ms, 4: 3ms}, backward: {1: 0s}}", 9).forward, 0.5e-3));
  // through 2 and 4 falling ones, which scatter, it gives more than the smallest batch takes: as long
  CHECK(relative(from("{forward: {2: 3ms, 4: 2.8ms}, backward: {1: 0s}}", 9).forward, 3e-3));
  // a lone point: a launch, and a quarter of the rest; backward, without weights, is one kernel too
  const auto lone = from("{forward: {4: 5ms}, backward: {4: 9ms}}", 1e-3);
  CHECK(relative(lone.forward, 1e-3 + 1e-3));
  CHECK(relative(lone.backward(), 1e-3 + 2e-3));
  CHECK(relative(from("{forward: {4: 5ms}, backward: {4: 9ms}}", 7e-3).forward, 5e-3));
}

TEST_CASE("profiled times have their origin") {
  const auto g = support::tiny_graph(3, {{0, 1}});
  const auto profile = cost::parse_profile(kProfile, "p.yaml");
  const auto forward = [&](std::size_t op, std::int64_t n) {
    return profile.estimate(g, OpId(op), profile.measured_device(), n)[graph::Pass::forward];
  };
  CHECK(forward(0, 4).origin == cost::Origin::measured);
  CHECK(forward(0, 4).low == forward(0, 4).high);
  const auto between = forward(0, 6), below = forward(1, 1), above = forward(1, 4);
  CHECK(between.origin == cost::Origin::interpolated);
  CHECK(relative(between.low, 2e-3));
  CHECK(relative(between.high, 4e-3));
  CHECK(below.origin == cost::Origin::extrapolated);
  CHECK(relative(below.low, 0.5e-3));
  CHECK(relative(below.high, 1e-3));
  CHECK(above.origin == cost::Origin::extrapolated);
  CHECK(relative(above.low, 1e-3));
  CHECK(relative(above.high, 2e-3));
}

TEST_CASE("bad profiles are refused with their place") {
  CHECK(fault_of("penstock_profile: 1\ndevice: d\noperators:\n  a: {total: {1: 3}}\n") ==
        "p.yaml:4: operators.a.total.1: expected a time with its unit, such as 3us, to 10^7 s, found '3'");
  CHECK(fault_of("penstock_profile: 1\ndevice: d\noperators:\n  a: {total: {x: 3ms}}\n")
            .find("expected a batch size") != std::string::npos);
  CHECK(fault_of("penstock_profile: 2\ndevice: d\noperators: {}\n").find("expected 1, found '2'") !=
        std::string::npos);
}

TEST_CASE("a workload goes with its profile, to the bit, and its faults have their place") {
  graph::PiperWorkload workload;
  workload.layers = {
      {"a \"1\"",
       {{1, 1.0 / 3, {{"plain", 0.1, 1e15, 2.0 / 3}}}, {8, 0, {{"p", 0, 0, 0}, {"r", 1e-9, 1, 2}}}}},
      {"b", {{1, 4, {{"plain", 1, 2, 3}}}}}};
  workload.edges = {{0, 1, 0.7, {0, 1.5}, {2}}};
  const std::string text =
      cost::to_yaml(cost::ProfileCosts("Piper", {{"b", {{{1}, {1}}, {{1}, {2}}}}}, workload));
  const auto read = cost::parse_profile(text, "p.yaml").workload();
  REQUIRE(read);
  CHECK(cost::to_yaml(cost::ProfileCosts("Piper", {{"b", {{{1}, {1}}, {{1}, {2}}}}}, *read)) == text);
  CHECK(read->layers[0].degrees[1].configurations[1].time == 1e-9);
  CHECK(read->edges[0].leaving == std::vector<double>{0, 1.5});
  const auto without = [&](const std::string& from, const std::string& to) {
    std::string other = text;
    return fault_of(other.replace(other.find(from), from.size(), to));
  };
  CHECK(without("to: \"b\"", "to: \"c\"").find("no layer has this name") != std::string::npos);
  CHECK(without("entering: [2]", "entering: [2, 3]").find("expected 1 numbers") != std::string::npos);
  CHECK(without("      8: {", "      0: {").find("expected a number of devices as key, found '0'") !=
        std::string::npos);
  CHECK(without("weights: 4", "weights: -4").find("expected bytes from 0") != std::string::npos);
  CHECK(
      without("ways: [{name: \"plain\", time: 1s, each: 2, fixed: 3}]", "ways: []").find("one or two ways") !=
      std::string::npos);
}

TEST_CASE("a written profile is read back to the bit") {
  const cost::ProfileCosts profile("a \"fast\" one\n", {{"a", {{{1, 8}, {0.1, 1.0 / 3}}, {{4}, {1e-9}}}},
                                                        {"b: {", {{{2}, {0}}, {{2}, {7e6}}}}});
  const auto again = cost::parse_profile(cost::to_yaml(profile), "p.yaml");
  CHECK(again.device() == profile.device());
  REQUIRE(again.entries().size() == 2);
  for (const auto& [name, entry] : profile.entries()) {
    CAPTURE(name);
    const auto& read = again.entries().at(name);
    CHECK(read.forward.samples == entry.forward.samples);
    CHECK(read.forward.seconds == entry.forward.seconds);
    CHECK(read.backward.seconds == entry.backward.seconds);
  }
  CHECK(cost::parse_profile(cost::to_yaml(cost::ProfileCosts("none", {})), "p.yaml").entries().empty());
}

TEST_CASE("weights' and inputs' gradients share a backward time, and a device of a group takes its part") {
  graph::GraphBuilder builder("weights");
  builder.add(support::unit_op("a", 1e9, 100));
  const auto g = builder.build();
  const auto profile = cost::parse_profile(
      "penstock_profile: 1\ndevice: V100\noperators:\n  a: {forward: {1: 2ms}, backward: {1: 6ms}}\n",
      "p.yaml");
  const cluster::DeviceType any{};
  const auto whole = profile.op_time(g, OpId(0), any, 1);
  CHECK(whole.input_gradient.value() == support::near(3e-3));
  CHECK(whole.weight_gradient.value() == support::near(3e-3));
  const cost::OpShard quarter{plan::Partition::column, 0.25};
  CHECK(profile.estimate(g, OpId(0), any, 1, quarter)[graph::Pass::forward].time.value() ==
        support::near(0.5e-3));
  const auto part = profile.part_time(g, OpId(0), any, 1, quarter);
  CHECK(part.forward.value() == support::near(0.5e-3));
  CHECK(part.backward().value() == support::near(1.5e-3));
  // The fixed part stays whole: all of it; 1 of 3 ms at one sample; a launch of a single point.
  const auto quarter_of = [&](const std::string& text, double launch) {
    cluster::DeviceType device{};
    device.launch_overhead = core::Seconds(launch);
    return cost::parse_profile("penstock_profile: 1\ndevice: d\noperators:\n  a: " + text, "p")
        .part_time(g, OpId(0), device, 1, quarter);
  };
  CHECK(quarter_of("{forward: {1: 1ms, 64: 1ms}, backward: {1: 0s}}", 0).forward.value() ==
        support::near(1e-3));
  CHECK(quarter_of("{forward: {1: 3ms, 2: 5ms}, backward: {1: 0s}}", 0).forward.value() ==
        support::near(1e-3 + 2e-3 / 4));
  const auto launched = quarter_of("{forward: {1: 2ms}, backward: {1: 6ms}}", 1e-3);
  CHECK(launched.forward.value() == support::near(1e-3 + 1e-3 / 4));
  CHECK(launched.backward().value() == support::near(2e-3 + 4e-3 / 4));  // two kernels
  // A total is a third forward and two thirds backward.
  const auto total = cost::parse_profile(
      "penstock_profile: 1\ndevice: V100\noperators:\n  a: {total: {1: 9ms}}\n", "p.yaml");
  CHECK(total.op_time(g, OpId(0), any, 1).forward.value() == support::near(3e-3));
  CHECK(total.op_time(g, OpId(0), any, 1).weight_gradient.value() == support::near(3e-3));
}
