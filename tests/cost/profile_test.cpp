#include "penstock/cost/profile.hpp"

#include <doctest/doctest.h>

#include "penstock/core/error.hpp"
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

}  // namespace

TEST_CASE("profiled times are interpolated between batch sizes") {
  const auto g = support::tiny_graph(3, {{0, 1}});
  const auto profile = cost::parse_profile(kProfile, "p.yaml");
  const cluster::DeviceType any{};
  const auto ms = [&](std::size_t op, std::int64_t n) {
    return profile.op_time(g, OpId(op), any, n).forward.value() * 1e3;
  };
  CHECK(ms(0, 1) == doctest::Approx(1));
  CHECK(ms(0, 2) == doctest::Approx(1 + 1.0 / 3));  // a third of the way from 1 to 4 samples
  CHECK(ms(0, 6) == doctest::Approx(3));
  CHECK(ms(0, 16) == doctest::Approx(8));  // slope of the last two points: 0.5 ms per sample
  CHECK(ms(1, 4) == doctest::Approx(2));   // a third of 3 ms, for twice the samples
  CHECK(profile.op_time(g, OpId(0), any, 4).backward().value() == doctest::Approx(8e-3));
  CHECK_THROWS_AS(profile.op_time(g, OpId(2), any, 1), core::BadInput);
}

TEST_CASE("bad profiles are refused with their place") {
  CHECK(fault_of("penstock_profile: 1\ndevice: d\noperators:\n  a: {total: {1: 3}}\n") ==
        "p.yaml:4: operators.a.total.1: expected a time with its unit, such as 3us, found '3'");
  CHECK(fault_of("penstock_profile: 1\ndevice: d\noperators:\n  a: {total: {x: 3ms}}\n")
            .find("expected a batch size") != std::string::npos);
  CHECK(fault_of("penstock_profile: 2\ndevice: d\noperators: {}\n").find("whole number from 1 to 1") !=
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
