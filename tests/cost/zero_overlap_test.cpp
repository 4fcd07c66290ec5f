// Weights gathered and gradients scattered while other layers compute: ZeRO 2 and 3 by hand.

#include <doctest/doctest.h>

#include "penstock/cost/sharding.hpp"
#include "support/fixed_costs.hpp"
#include "support/near.hpp"
#include "support/small_mixture.hpp"
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

TEST_CASE("a device with much to compute waits for the first layer, and for operators outside layers") {
  // Two of 7 operators' gathers per layer; the embedding's hides behind nothing.
  const auto two = timed(2, 1).collectives, three = timed(3, 1).collectives;
  CHECK(two.forward.value() == 0);
  CHECK(two.backward().value() == support::near(3 * kGather));
  CHECK(three.forward.value() == support::near(3 * kGather));
  CHECK(three.backward().value() == support::near(6 * kGather));  // gathered and scattered
  CHECK(three.input_gradient.value() == support::near(3 * kGather));
  CHECK(timed(1, 1).collectives.total().value() == 0);
}

TEST_CASE("a device with little to compute waits for the network, except while it computes") {
  // In quarters of a gather: forward 7 are computed and 24 sent for layers. Two thirds of the computing hide,
  // for the last layer computes when its weights have come. Another 4 are for the embedding. Backward twice
  // that.
  const double each = kGather / 4;
  const auto three = timed(3, each);
  CHECK(three.collectives.forward.value() == support::near((24 - 7 * 2.0 / 3 + 4) * each));
  CHECK(three.collectives.backward().value() == support::near(2 * (24 - 7 * 2.0 / 3 + 4) * each));
}

TEST_CASE("layers that are computed again keep their weights for the backward pass") {
  const auto again = timed(3, 1, plan::kRecomputeLayers).collectives;
  CHECK(again.recompute.value() == support::near(2 * kGather));
  CHECK(again.input_gradient.value() == support::near(1 * kGather));
  CHECK(again.weight_gradient.value() == support::near(3 * kGather));
  // The stage as a whole has let go of the first ones when the last are done.
  const auto whole = timed(3, 1, plan::kRecomputeStage).collectives;
  CHECK(whole.recompute.value() == support::near(3 * kGather));
  CHECK(whole.backward().value() == support::near(6 * kGather));
}

TEST_CASE("one layer has no other to hide behind") {
  const auto g = layers();
  const auto cluster = support::tiny_cluster(4);
  const auto costs = support::FixedCosts::uniform(7, 1, 2);
  plan::Stage stage;
  stage.operators = {OpId(1), OpId(2)};
  for (std::size_t d = 0; d < 4; ++d) stage.devices.emplace_back(d);
  stage.zero = 3;
  const auto alone = cost::stage_time({g, cluster, costs, {4}}, stage, 1).collectives;
  CHECK(alone.forward.value() == support::near(2 * kGather));
  CHECK(alone.backward().value() == support::near(4 * kGather));
}

TEST_CASE("with ZeRO 2 and 3 a layer's weights and gradients are there at once") {
  const auto g = layers();
  const auto cluster = support::tiny_cluster(4);
  const auto costs = support::FixedCosts::uniform(7, 1, 2);
  plan::Stage stage;
  for (std::size_t v = 0; v < 7; ++v) stage.operators.emplace_back(v);
  for (std::size_t d = 0; d < 4; ++d) stage.devices.emplace_back(d);
  const auto largest = [&](int zero) {
    stage.zero = zero;
    return cost::stage_load({g, cluster, costs, {4}}, stage).largest;
  };
  CHECK(largest(0) == core::Bytes(4000));
  CHECK(largest(1) == core::Bytes(4000));
  CHECK(largest(2) == core::Bytes(8000));
  CHECK(largest(3) == core::Bytes(8000));
}

TEST_CASE("a device gathers its own experts, among the devices that hold them too") {
  const auto g = support::small_mixture("1");
  const auto cluster = support::tiny_cluster(4);
  const auto costs = support::FixedCosts::uniform(g.size(), 1, 2);
  plan::Stage stage;  // one layer
  double experts = 0, others = 0;
  for (std::size_t v = 0; v < g.size(); ++v) {
    if (!g.op(OpId(v)).name.starts_with("layer0.")) continue;
    stage.operators.emplace_back(v);
    (g.op(OpId(v)).kind == graph::OpKind::experts ? experts : others) +=
        static_cast<double>(g.parameter_bytes(OpId(v)).value());
  }
  for (std::size_t d = 0; d < 4; ++d) stage.devices.emplace_back(d);
  stage.expert_parallel = 2;
  const auto forward = [&](int zero) {
    stage.zero = zero;
    return cost::stage_time({g, cluster, costs, {4}}, stage, 1).collectives.forward.value();
  };
  // At 1 GB/s three quarters of the others' weights come in, and one half of half of the experts'.
  CHECK(forward(3) - forward(2) == support::near((others * 3 / 4 + experts / 4) / 1e9, 1e-6));
}
