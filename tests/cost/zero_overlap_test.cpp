// Weights gathered and gradients scattered while other layers compute: ZeRO 2 and 3 by hand.

#include <doctest/doctest.h>

#include "penstock/cost/sharding.hpp"
#include "penstock/score/problem_bound.hpp"
#include "support/fixed_costs.hpp"
#include "support/near.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using core::DeviceId;
using core::OpId;

namespace {

/// An embedding, then three layers of two operators each, all of 1000 weights (4 kB).
graph::OpGraph layers() {
  graph::GraphBuilder builder("layers");
  builder.add(support::unit_op("embedding", 1e9, 1000));
  for (const char* name :
       {"layer0.dense", "layer0.add", "layer1.dense", "layer1.add", "layer2.dense", "layer2.add"})
    builder.add(support::unit_op(name, 1e9, 1000));
  for (std::size_t v = 1; v < 7; ++v) builder.add_edge(OpId(v - 1), OpId(v));
  return builder.build();
}

/// Four replicas that gather 4 kB in three steps of 1 kB at 1 GB/s each.
constexpr double kGather = 3e-6;

/// An operator takes `forward` seconds and twice that backward.
cost::StageTime timed(int zero, double forward, plan::Recomputation recompute = {}) {
  const auto g = layers();
  const auto cluster = support::tiny_cluster(4);
  const auto costs = support::FixedCosts::uniform(7, forward, 2 * forward);
  plan::Stage stage;
  for (std::size_t v = 0; v < 7; ++v) stage.operators.emplace_back(v);
  for (std::size_t d = 0; d < 4; ++d) stage.devices.emplace_back(d);
  stage.zero = zero;
  stage.recompute = recompute;
  return cost::stage_time({g, cluster, costs, {4}}, stage, 1);
}

}  // namespace

TEST_CASE("a device with much to compute waits for one of four: three layers, and the embedding") {
  const auto two = timed(2, 1).collectives, three = timed(3, 1).collectives;
  CHECK(two.forward.value() == 0);
  CHECK(two.backward().value() == support::near(7 * kGather / 4));
  CHECK(three.forward.value() == support::near(7 * kGather / 4));
  CHECK(three.backward().value() == support::near(14 * kGather / 4));  // gathered and scattered
  CHECK(three.input_gradient.value() == support::near(7 * kGather / 4));
  CHECK(timed(1, 1).collectives.total().value() == 0);
}

TEST_CASE("a device with little to compute waits for the network") {
  const double each = kGather / 4;  // forward 7 of them compute, 28 are sent; backward 14 and 56
  const auto three = timed(3, each);
  CHECK(three.collectives.forward.value() == support::near(21 * each));
  CHECK(three.collectives.backward().value() == support::near(42 * each));
  CHECK(three.total().total().value() == support::near(84 * each));  // all that is sent, and nothing else
}

TEST_CASE("layers that are computed again keep their weights for the backward pass") {
  const auto again = timed(3, 1, plan::kRecomputeLayers).collectives;
  CHECK(again.recompute.value() == support::near(6 * kGather / 4));
  CHECK(again.input_gradient.value() == support::near(1 * kGather / 4));
  CHECK(again.weight_gradient.value() == support::near(7 * kGather / 4));
  // The stage as a whole has let go of the first ones when the last are done.
  const auto whole = timed(3, 1, plan::kRecomputeStage).collectives;
  CHECK(whole.recompute.value() == support::near(7 * kGather / 4));
  CHECK(whole.backward().value() == support::near(14 * kGather / 4));
}

TEST_CASE("bounds count no sum of gradients that may hide") {
  plan::Plan plan;
  plan.stages.resize(2);
  using score::Reduction;
  CHECK(score::reduction_of(plan, Reduction::closed_form) == Reduction::closed_form);
  plan.stages[1].zero = 1;
  CHECK(score::reduction_of(plan, Reduction::closed_form) == Reduction::closed_form);
  plan.stages[1].zero = 2;
  CHECK(score::reduction_of(plan, Reduction::closed_form) == Reduction::free);
}
