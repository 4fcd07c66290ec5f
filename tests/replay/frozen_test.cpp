// Frozen layers: what trains learns what it learns where all do, and nothing is computed or held for the
// rest.

#include <doctest/doctest.h>

#include "check_training.hpp"
#include "models/layers.hpp"
#include "penstock/kernels/devices.hpp"
#include "penstock/kernels/graph_run.hpp"
#include "penstock/replay/device_worker.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "random_training.hpp"
#include "reference.hpp"
#include "round_robin.hpp"

using namespace penstock;
using core::OpId;
using replay::test::check_training;
using replay::test::cut_model;
using replay::test::CutModel;
using replay::test::CutSetting;
using replay::test::random_training;
using replay::test::Weights;

namespace {

/// A frozen tower, a projector that trains, a frozen table beside it, then layers of both kinds by turns.
graph::OpGraph towers() {
  models::Layers net("towers");
  const auto layer = [&](const std::string& name, models::Tensor x) {
    x = net.layer_norm(name + ".norm", net.attention(name + ".attention", x, x, x, 2, {.bias = true}));
    return net.linear(name + ".dense", x, 8, {.bias = true, .fused = models::Activation::gelu});
  };
  net.freeze(true);
  auto seen = layer("layer1", layer("layer0", net.input("image", {3, 8})));
  net.freeze(false);
  seen = net.linear("projector", seen, 8);
  net.freeze(true);
  auto x = net.add("both", {seen, net.embedding("table", net.indices("rows", 3), {11, 8})});
  x = layer("layer2", x);
  net.freeze(false);
  x = layer("layer3", x);
  net.freeze(true);
  return net.linear("head", x, 5), net.build();
}

/// The gradients of one device where all layers train, of those that train in `graph`.
Weights unfrozen(const graph::OpGraph& all, const graph::OpGraph& graph, const replay::TrainingSetup& setup,
                 kernels::Backend& host) {
  Weights out = replay::test::gradients(host, all, setup, replay::test::first_weights(all, setup), {0, 4}, 4);
  std::erase_if(out, [&](const auto& of) { return graph.op(of.first).frozen_parameters > 0; });
  return out;
}

}  // namespace

TEST_CASE(
    "models with frozen layers in stages, replicated, divided, recomputed, with split backward passes") {
  const std::vector<CutSetting> cuts = {
      {.rank = {0}},
      {.rank = {0, 1}, .replicas = 2, .recompute = plan::kRecomputeLayers},
      {.schedule = "gpipe", .rank = {0, 1}, .tensor_parallel = 2, .recompute = plan::kRecomputeStage},
      {.schedule = "zb_h1", .rank = {0, 1, 2}, .micro_batch = 1, .tensor_parallel = 2},
      {.schedule = "interleaved_1f1b", .rank = {0, 1, 0, 1}, .micro_batch = 1}};
  for (const CutSetting& cut : cuts) {
    CAPTURE(cut.schedule);
    check_training(cut_model(towers(), cut), {cut.mini_batch, 1e-4});
  }
}

TEST_CASE("random models, half of their layers frozen") {
  const auto host = kernels::open_device("host", 1);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    const CutModel some = random_training(seed, true);
    check_training(some, {24, 1e-4, 1});
    const replay::TrainingSetup setup;
    CHECK(replay::test::distance(
              replay::test::gradients(*host, some.graph, setup,
                                      replay::test::first_weights(some.graph, setup), {0, 4}, 4),
              unfrozen(random_training(seed).graph, some.graph, setup, *host)) < 1e-6);
  }
}

TEST_CASE("gradients and optimizer state exist only for trained parameters") {
  const graph::OpGraph graph = towers();
  const CutModel model = cut_model(graph, {.rank = {0}, .optimizer = plan::Optimizer::adam});
  const auto host = kernels::open_device("host", 1);
  const auto program = replay::lower(graph, {graph, model.plan});
  const auto worker = replay::make_worker(*host, model.problem(), model.plan, core::DeviceId(0), program, {});
  const auto memory = worker->memory().now;
  const core::Bytes training(graph.parameters() * 4), frozen(graph.frozen_parameters() * 4);
  REQUIRE(frozen > training);
  CHECK(at(memory, plan::MemoryKind::weights) == training + frozen);
  CHECK(at(memory, plan::MemoryKind::gradients) == training);
  CHECK(at(memory, plan::MemoryKind::optimizer) == training * 2);
}

TEST_CASE("no frozen layer has a weight gradient, and none above which nothing trains an input gradient") {
  const graph::OpGraph graph = towers();
  const auto host = kernels::open_device("host", 1);
  const kernels::GraphRun run(*host, graph, 1, kernels::Precision::fp32, 1);
  for (std::size_t v = 0; v < graph.size(); ++v) {
    const graph::Operator& op = graph.op(OpId(v));
    CAPTURE(op.name);
    CHECK(run.runs(OpId(v), graph::Pass::weight_gradient) == (op.parameters > 0));
    if (!graph.trains_above(OpId(v))) CHECK(!run.runs(OpId(v), graph::Pass::input_gradient));
  }
}
