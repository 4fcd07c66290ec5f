// A replay is training: gradients and updated weights are those of one device that has all samples.

#include <doctest/doctest.h>

#include <set>

#include "cut_model.hpp"
#include "models/catalogue.hpp"
#include "models/layers.hpp"
#include "penstock/core/error.hpp"
#include "penstock/kernels/devices.hpp"
#include "penstock/kernels/wiring.hpp"
#include "penstock/plan/faults.hpp"
#include "penstock/schedule/catalogue.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "round_robin.hpp"

using namespace penstock;
using replay::test::Cut;
using replay::test::cut_model;
using replay::test::CutModel;
using replay::test::Weights;

namespace {

replay::TrainingSetup setup_of(plan::Optimizer optimizer) {
  replay::TrainingSetup setup;
  setup.seed = 5;
  setup.rule.kind = static_cast<kernels::UpdateRule::Kind>(optimizer);
  setup.rule.rate = 1e-3f;
  return setup;
}

/// Two iterations of the same mini-batch, replayed and on one device. `at_once`: samples that the one device
/// takes at a time.
void check_training(const CutModel& cut, std::int64_t at_once, double most = 1e-5) {
  REQUIRE(plan::structural_faults(cut.graph, cut.cluster, cut.plan) == std::vector<std::string>{});
  const auto host = kernels::open_device("host", 1);
  const auto setup = setup_of(cut.plan.training.optimizer);
  const replay::Program program = replay::lower(cut.graph, cut.plan, schedule::plan_order(cut.plan));
  replay::test::RoundRobin replayed(*host, cut.problem(), cut.plan, program, setup);
  Weights weights = replay::test::first_weights(cut.graph, setup);
  CHECK(replay::test::distance(replayed.weights(), weights) < 1e-7);
  replay::test::Optimizer optimizer(setup.rule);
  for (int iteration = 0; iteration < 2; ++iteration) {
    replayed.run();
    const Weights expected =
        replay::test::gradients(*host, cut.graph, setup, weights, {0, cut.plan.training.mini_batch}, at_once);
    CHECK(replay::test::distance(replayed.gradients(), expected) < most);
    optimizer.step(weights, expected);
    CHECK(replay::test::distance(replayed.weights(), weights) < most);
  }
}

/// Eight dense layers of different widths, two norms, and a skip across two stages of most cuts.
graph::OpGraph small_chain() {
  models::Layers net("chain");
  auto x = net.input("x", {6});
  auto skip = x = net.linear("layer0", x, 8, {.bias = true});
  for (int i = 1; i < 12; ++i) {
    x = net.linear("layer" + std::to_string(i), x, i == 11 ? 8 : 5 + i % 4,
                   {.bias = true, .fused = models::Activation::tanh});
    if (i == 3) x = net.layer_norm("norm", x);
  }
  return net.add("sum", {x, skip}), net.build();
}

std::vector<std::int32_t> placement(const std::string& family) {
  schedule::GridShape shape;
  shape.ranks = 4;
  shape.micro_batches = 8;
  return schedule::make_grid(family, shape).rank_of_stage;
}

}  // namespace

// A plan has one copy of the model (dualpipe, chimera), micro-batches of one size (sliced_1f1b), and keeps
// activations where they are (bpipe).
TEST_CASE("every family of schedules that flushes and that a plan can name trains as one device does") {
  std::set<std::string> left_out;
  for (const auto& family : schedule::grid_families()) {
    CAPTURE(family.name);
    if (family.weights != "flush") continue;
    Cut cut{.schedule = family.name, .rank = placement(family.name), .mini_batch = 16, .micro_batch = 2};
    for (const std::size_t replicas : {1, 2}) {
      cut.replicas = replicas;
      cut.recompute = replicas == 2;
      try {
        schedule::plan_order(cut_model(small_chain(), cut).plan);
      } catch (const core::BadInput&) {
        left_out.insert(family.name);
        continue;
      }
      check_training(cut_model(small_chain(), cut), 16);
    }
  }
  CHECK(left_out == std::set<std::string>{"bpipe", "chimera", "dualpipe", "sliced_1f1b"});
}

TEST_CASE("stages of several micro-batch sizes, and replicas with uneven shares") {
  CutModel model =
      cut_model(small_chain(), {.rank = {0, 1, 2}, .mini_batch = 12, .micro_batch = 6, .replicas = 4});
  model.plan.stages[1].micro_batch = 4;
  model.plan.stages[2].micro_batch = 12;
  for (auto& stage : model.plan.stages) stage.in_flight = 12;
  model.plan.schedule = "gpipe";
  check_training(model, 12);
}

TEST_CASE("every optimizer") {
  for (const auto optimizer : {plan::Optimizer::sgd, plan::Optimizer::momentum, plan::Optimizer::adam}) {
    CAPTURE(plan::name(optimizer));
    check_training(cut_model(small_chain(), {.optimizer = optimizer}), 4);
  }
}

namespace {

using Given = std::map<std::string, std::string>;

/// The same operators, each with parameters of its own: stages share none.
graph::OpGraph untied(const graph::OpGraph& model) {
  graph::GraphBuilder builder(model.name());
  const auto wires = kernels::wire(model, kernels::Number::fp32);
  for (std::size_t v = 0; v < model.size(); ++v) {
    graph::Operator op = model.op(core::OpId(v));
    op.parameters = 0;
    for (const kernels::Parameter& parameter : wires[v].parameters) op.parameters += parameter.slot.count();
    std::vector<core::OpId> producers;
    for (const graph::Vertex u : model.dag().predecessors(static_cast<graph::Vertex>(v)))
      producers.emplace_back(static_cast<std::size_t>(u));
    builder.add(op, producers);
  }
  return builder.build();
}

void check_zoo(const std::string& name, const Given& given, Cut cut, double most = 3e-5,
               std::int64_t at_once = 0) {
  CAPTURE(name);
  CAPTURE(cut.schedule);
  check_training(cut_model(untied(models::build(name, given)), cut), at_once > 0 ? at_once : cut.mini_batch,
                 most);
}

const std::map<std::string, Given> kSmall = {
    {"mmt", {{"branches", "2"}, {"layers", "1"}, {"hidden", "8"}, {"heads", "2"}, {"sequence", "3"}}},
    {"dlrm", {{"branches", "2"}, {"table_rows", "20"}, {"tower_input", "8"}, {"width", "8"}}},
    {"candle_uno", {{"towers", "2"}, {"width", "8"}}},
    {"case_study", {{"layers", "1"}, {"hidden", "8"}, {"heads", "2"}, {"sequence", "3"}}},
    {"clip",
     {{"text_sequence", "3"},
      {"text_hidden", "8"},
      {"text_layers", "2"},
      {"text_heads", "2"},
      {"resolution", "32"},
      {"image_hidden", "8"},
      {"image_heads", "2"},
      {"image_layers", "2"}}},
    {"transformer", {{"layers", "2"}, {"hidden", "8"}, {"heads", "2"}, {"sequence", "3"}}},
    {"gpt", {{"vocabulary", "13"}, {"layers", "1"}, {"hidden", "8"}, {"heads", "2"}, {"sequence", "3"}}},
    {"encoder_decoder",
     {{"vocabulary", "13"},
      {"layers", "1"},
      {"hidden", "8"},
      {"heads", "2"},
      {"feed_forward", "8"},
      {"source_length", "3"},
      {"target_length", "2"}}}};

}  // namespace

TEST_CASE("small models of the zoo, cut along their branches or in a row") {
  const std::vector<Cut> cuts = {
      {},
      {.sequential = true},
      {.schedule = "gpipe", .recompute = true},
      {.schedule = "zb_h1", .micro_batch = 1},
      {.replicas = 2},
  };
  for (const auto& [name, given] : kSmall)
    for (const Cut& cut : cuts) check_zoo(name, given, cut);
}

TEST_CASE("operators tied within a stage add to one gradient") {
  for (const char* name : {"gpt", "encoder_decoder"})
    check_training(cut_model(models::build(name, kSmall.at(name)), {.rank = {0}, .replicas = 2}), 4);
}

// Batch norm sees its share of a micro-batch alone, so the one device takes the same shares in turn.
TEST_SUITE("slow") {
  TEST_CASE("large models of the zoo") {
    check_zoo("bert", {{"sequence", "8"}}, {.replicas = 2});
    check_zoo("resnet50", {{"resolution", "64"}}, {.replicas = 1}, 1e-5, 2);
    check_zoo("inception_v3", {{"resolution", "75"}}, {.schedule = "zb_h1", .replicas = 2}, 1e-5, 1);
    check_zoo("vgg16", {}, {.rank = {0, 1}, .mini_batch = 2, .micro_batch = 1});
  }
}
