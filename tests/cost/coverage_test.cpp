#include "penstock/cost/coverage.hpp"

#include <doctest/doctest.h>

#include "penstock/cost/calibrated.hpp"
#include "penstock/graph/graph_builder.hpp"
#include "support/near.hpp"
#include "support/small_calibration.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using namespace penstock::cost;
using graph::OpKind;
constexpr auto point = support::cold_point;

namespace {

graph::Operator layer(const std::string& name, OpKind kind, double flops) {
  graph::Operator op;
  op.name = name;
  op.kind = kind;
  const char* extent = kind == OpKind::linear ? "in" : kind == OpKind::softmax ? "width" : "elements";
  op.attributes = graph::attributes_of(kind, {{extent, 8}});
  op.forward_flops = op.weight_gradient_flops = core::Flops(flops);
  return op;
}

/// x -> a -> b: an input, a tied linear layer and a softmax that was not measured.
graph::OpGraph model() {
  graph::GraphBuilder builder("m");
  const auto x = builder.add(layer("x", OpKind::input, 0)), a = builder.add(layer("a", OpKind::linear, 1e9)),
             b = builder.add(layer("b", OpKind::softmax, 3e9));
  builder.add_edge(x, a);
  builder.add_edge(a, b);
  return builder.build();
}

/// a was measured: for 1 and 3 samples forward in 2 and 6 ms, for one sample backward in 4 ms.
CalibratedCosts costs() {
  Calibration out = support::bare_calibration();
  out.kernels = {{{OpKind::linear, {{"in", 8}}, cluster::Precision::fp32},
                  {{core::Flops(1e9), {}, core::Flops(1e9)}, {}, {}},
                  {point(graph::Pass::forward, 1, 2e-3), point(graph::Pass::forward, 3, 6e-3),
                   point(graph::Pass::weight_gradient, 1, 4e-3)}}};
  return CalibratedCosts(out);
}

double seconds(const OriginCoverage& coverage, TimeOrigin origin) {
  return coverage.seconds[static_cast<std::size_t>(origin)];
}
std::int64_t operators(const OriginCoverage& coverage, TimeOrigin origin) {
  return coverage.operators[static_cast<std::size_t>(origin)];
}

}  // namespace

TEST_CASE("operators count by their worst pass, time by pass") {
  // Two samples: a takes 4 ms forward, halfway, and 8 ms backward, beyond the one sample measured.
  const OriginCoverage two = coverage(costs(), model(), 2);
  CHECK(seconds(two, TimeOrigin::interpolated) == support::near(4e-3));
  CHECK(seconds(two, TimeOrigin::extrapolated) == support::near(8e-3));
  CHECK(operators(two, TimeOrigin::extrapolated) == 1);
  CHECK(operators(two, TimeOrigin::interpolated) == 0);
  CHECK(operators(two, TimeOrigin::analytic) == 1);
  const OriginCoverage one = coverage(costs(), model(), 1);
  CHECK(operators(one, TimeOrigin::measured) == 1);  // the input is no work
  CHECK(one.time_share(TimeOrigin::measured) + one.time_share(TimeOrigin::analytic) == support::near(1));
  CHECK(OriginCoverage{}.time_share(TimeOrigin::measured) == 0);
}

TEST_CASE("a plan counts every micro-batch on every device") {
  // a on two devices, 4 samples in micro-batches of 2: twice one sample on each, 4 times 2 + 4 ms.
  // b on one: 2 micro-batches of 2 samples.
  const auto graph = model();
  const auto cluster = support::tiny_cluster(3);
  plan::Plan plan;
  plan.training.mini_batch = 4;
  plan.stages.resize(2);
  plan.stages[0].operators = {core::OpId(0), core::OpId(1)};
  plan.stages[0].devices = {core::DeviceId(0), core::DeviceId(1)};
  plan.stages[1].operators = {core::OpId(2)};
  plan.stages[1].devices = {core::DeviceId(2)};
  for (plan::Stage& stage : plan.stages) stage.micro_batch = 2;
  const auto calibrated = costs();
  const OriginCoverage all = coverage(calibrated, graph, cluster, plan);
  CHECK(seconds(all, TimeOrigin::measured) == support::near(4 * 6e-3));
  const auto b = calibrated.estimate(graph, core::OpId(2), cluster.type(core::DeviceId(2)), 2);
  CHECK(seconds(all, TimeOrigin::analytic) == support::near(2 * b.total().value()));
}

TEST_CASE("gaps are shapes, the most time first") {
  graph::GraphBuilder builder("m");
  builder.add(layer("a", OpKind::linear, 1e9));
  builder.add(layer("b", OpKind::softmax, 1e6));
  builder.add(layer("c", OpKind::softmax, 1e6));
  builder.add(layer("d", OpKind::norm, 1e9));
  const auto found = gaps(costs(), builder.build(), 1);
  REQUIRE(found.size() == 2);  // a was measured
  CHECK(found[0].op == core::OpId(3));
  CHECK(found[1].op == core::OpId(1));
  CHECK(found[1].operators == 2);
  CHECK(found[1].time().value() == support::near(2 * found[1].estimate.total().value()));
}
