#include "penstock/cost/stage_load.hpp"

#include <doctest/doctest.h>

#include "penstock/cost/analytic.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using core::Bytes;
using core::OpId;
using plan::MemoryKind;

namespace {

/// Over three replicas.
plan::ReplicaPlacement sharded(int zero) {
  plan::Stage stage;
  for (std::size_t d = 0; d < 3; ++d) stage.devices.emplace_back(d);
  stage.zero = zero;
  return plan::replica_placement(stage);
}

}  // namespace

TEST_CASE("a stage's load counts each tensor once") {
  //   a -> b -> d      stage {b, d}: a enters once though b and d both read it; d leaves to e.
  //   a -> d -> e
  const auto g = support::tiny_graph(5, {{0, 1}, {0, 3}, {1, 3}, {3, 4}, {2, 4}});
  const std::vector<OpId> stage{OpId(1), OpId(3)};
  const auto load = cost::stage_load(g, cost::AnalyticCosts(), stage);
  CHECK(load.inputs == Bytes(1000));
  CHECK(load.outputs == Bytes(1000));
  CHECK(load.activations == Bytes(2000));
  // While b runs: its own gradient, a's from d, and another term of that. d's lies in a buffer.
  CHECK(load.workspace.at(2) == Bytes(2 * 3000));
}

TEST_CASE("memory by kind") {
  cost::StageLoad load{Bytes(100), Bytes(10), Bytes(3), Bytes(2)};
  load.workspace.raise({Bytes(7), Bytes(5)});
  load.workspace.raise({Bytes(28), Bytes(0)});  // more than 5 x 4 + 7
  const auto memory = cost::stage_memory(load, {}, {.optimizer = plan::Optimizer::adam}, 4, 3);
  CHECK(at(memory, MemoryKind::weights) == Bytes(100));
  CHECK(at(memory, MemoryKind::gradients) == Bytes(100));
  CHECK(at(memory, MemoryKind::optimizer) == Bytes(200));
  CHECK(at(memory, MemoryKind::activations) == Bytes(13 * 4 * 3));
  CHECK(at(memory, MemoryKind::workspace) == Bytes(28));
  CHECK(at(memory, MemoryKind::buffers) == Bytes((3 + 4) * 4));
}

TEST_CASE("frozen weights are held once, and have neither gradients nor optimizer state") {
  // 100 B that train and 60 B that do not, of two replicas with ZeRO 3: 80 B of weights, 50 B of gradients.
  cost::StageLoad load{Bytes(100)};
  load.frozen = Bytes(60);
  const auto memory = cost::stage_memory(load, {}, {.optimizer = plan::Optimizer::adam}, 1, 1);
  CHECK(at(memory, MemoryKind::weights) == Bytes(160));
  CHECK(at(memory, MemoryKind::gradients) == Bytes(100));
  CHECK(at(memory, MemoryKind::optimizer) == Bytes(200));
  constexpr auto kShard = plan::OverReplicas::shard;
  const plan::ReplicaPlacement placement{kShard, kShard, kShard, 2, 1, 2};
  const auto sharded = cost::stage_memory(load, {}, {}, 1, 1, {}, placement);
  CHECK(at(sharded, MemoryKind::weights) == Bytes(80));
  CHECK(at(sharded, MemoryKind::gradients) == Bytes(50));
}

TEST_CASE(
    "mixed precision: gradients, moments and master weights of four bytes each, divided by ZeRO like any") {
  cost::StageLoad load;
  load.parameters = Bytes(100);  // 50 numbers
  plan::Training training{.optimizer = plan::Optimizer::adam};
  training.precision = plan::mixed_precision("mixed_bf16");
  const auto whole = cost::stage_memory(load, {}, training, 1, 1);
  CHECK(at(whole, MemoryKind::weights) == Bytes(100));
  CHECK(at(whole, MemoryKind::gradients) == Bytes(200));
  CHECK(at(whole, MemoryKind::optimizer) == Bytes(600));
  const auto shared = cost::stage_memory(load, {}, training, 1, 1, {}, sharded(2));
  CHECK(at(shared, MemoryKind::gradients) == Bytes(68));  // of 17 numbers
  CHECK(at(shared, MemoryKind::optimizer) == Bytes(204));
}

TEST_CASE("the fullest replica holds the rounded-up share") {
  CHECK(cost::samples_per_device(8, 4) == 2);
  CHECK(cost::samples_per_device(8, 3) == 3);
}

TEST_CASE(
    "ZeRO: a replica holds the rounded-up share, of the state from stage 1, gradients from 2, weights from "
    "3") {
  cost::StageLoad load;
  load.parameters = Bytes(100);
  const auto held = [&](int stage) {
    const auto memory =
        cost::stage_memory(load, {}, {.optimizer = plan::Optimizer::adam}, 1, 1, {}, sharded(stage));
    return std::vector{at(memory, MemoryKind::weights), at(memory, MemoryKind::gradients),
                       at(memory, MemoryKind::optimizer)};
  };
  CHECK(held(0) == std::vector{Bytes(100), Bytes(100), Bytes(200)});
  CHECK(held(1) == std::vector{Bytes(100), Bytes(100), Bytes(68)});
  CHECK(held(2) == std::vector{Bytes(100), Bytes(34), Bytes(68)});
  CHECK(held(3) == std::vector{Bytes(34), Bytes(34), Bytes(68)});
}

TEST_CASE("the largest weights of a stage are those of any operator, first or last") {
  graph::GraphBuilder builder("three");
  for (const std::int64_t parameters : {100, 300, 200})
    builder.add(support::unit_op("v" + std::to_string(parameters), 1e9, parameters));
  const auto load =
      cost::stage_load(builder.build(), cost::AnalyticCosts(), std::vector{OpId(0), OpId(1), OpId(2)});
  CHECK(load.parameters == Bytes(2400));
  CHECK(load.largest == Bytes(1200));
  CHECK(load.fresh == Bytes(1200));
}

TEST_CASE("ZeRO 2 and 3 need room for one layer's whole gradients, ZeRO 3 for two layers' weights") {
  cost::StageLoad load{Bytes(300), Bytes(10)};
  load.workspace.raise({Bytes(7), Bytes(0)});
  load.largest = Bytes(50);
  load.fresh = Bytes(20);  // of these the workspace has room already
  const auto workspace = [&](int zero) {
    return at(cost::stage_memory(load, {}, {8}, 1, 1, {}, sharded(zero)), MemoryKind::workspace);
  };
  CHECK(workspace(0) == Bytes(7));
  CHECK(workspace(1) == Bytes(7));
  CHECK(workspace(2) == Bytes(7 + 30));
  CHECK(workspace(3) == Bytes(7 + 30 + 100));
}

TEST_CASE("batch norms keep mean and variance of a channel in fp32, as long as activations") {
  graph::GraphBuilder b("norm", 2);
  graph::Operator op;
  op.name = "norm";
  op.kind = graph::OpKind::norm;
  op.attributes = graph::Norm{.elements = 64, .channels = 8, .form = graph::NormForm::batch};
  op.output_bytes = op.saved_bytes = Bytes(128);
  const std::vector<OpId> stage{b.add(op)};
  const auto load = cost::stage_load(b.build(), cost::AnalyticCosts(), stage);
  CHECK(load.statistics == Bytes(2 * 4 * 8));
  // Three micro-batches of two samples in flight, of which one is whole.
  cost::StageLoad kept;
  kept.statistics = Bytes(64);
  kept.activations = Bytes(100);
  kept.saved = Bytes(10);
  const auto activations = [&](std::optional<std::int64_t> whole) {
    return at(cost::stage_memory(kept, {}, {8}, 2, 3, whole, sharded(0)), MemoryKind::activations);
  };
  CHECK(activations({}) == Bytes(3 * 64 + (3 * 100 + 3 * 10) * 2));
  CHECK(activations(1) == Bytes(64 + (100 + 3 * 10) * 2));
}
