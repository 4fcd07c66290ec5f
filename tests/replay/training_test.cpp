// A replay is training: gradients and updated weights are those of one device that has all samples.

#include <doctest/doctest.h>

#include <atomic>
#include <set>

#include "check_training.hpp"
#include "models/catalogue.hpp"
#include "models/layers.hpp"
#include "penstock/core/error.hpp"
#include "penstock/kernels/devices.hpp"
#include "penstock/kernels/wiring.hpp"
#include "penstock/schedule/catalogue.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "round_robin.hpp"
#include "shared_model.hpp"
#include "support/skip.hpp"

using namespace penstock;
using replay::test::check_training;
using replay::test::cut_model;
using replay::test::CutModel;
using replay::test::CutSetting;
using replay::test::TrainingAccuracy;
using replay::test::Weights;

namespace {

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
  schedule::ScheduleShape shape;
  shape.ranks = 4;
  shape.micro_batches = 8;
  return schedule::make_schedule(family, shape).rank_of_stage;
}

}  // namespace

// A plan has one copy of the model (dualpipe, chimera), micro-batches of one size (sliced_1f1b), and keeps
// activations where they are (bpipe).
TEST_CASE("every family of schedules that flushes and that a plan can name trains as one device does") {
  std::set<std::string> left_out;
  for (const auto& family : schedule::families()) {
    CAPTURE(family.name);
    if (family.weights != "flush") continue;
    CutSetting cut{
        .schedule = family.name, .rank = placement(family.name), .mini_batch = 16, .micro_batch = 2};
    for (const std::size_t replicas : {1, 2}) {
      cut.replicas = replicas;
      if (replicas == 2) cut.recompute = plan::kRecomputeStage;
      try {
        schedule::plan_order(cut_model(small_chain(), cut).plan);
      } catch (const core::BadInput&) {
        left_out.insert(family.name);
        continue;
      }
      check_training(cut_model(small_chain(), cut), {16});
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
  check_training(model, {12});
}

// Batch norm sees only its share of a micro-batch, so the one device takes the same shares in turn. Of the
// activations the first two work in place, the third on a tensor that has another reader.
TEST_CASE("images: convolutions, batch norm, activations in place, pools") {
  models::Layers net("images");
  const auto relu = models::Activation::relu;
  const models::Window three{.kernel = {3, 3}, .padding = {1, 1}};
  auto x = net.conv2d("conv0", net.input("x", {3, 8, 8}), 4, three);
  x = net.activation("relu0", net.batch_norm("norm0", x), relu);
  auto y = net.activation("tanh1", net.conv2d("conv1", x, 4, three, true), models::Activation::tanh);
  x = net.add("sum", {x, y});
  x = net.add("late sum", {x, net.activation("relu2", x, relu)});
  x = net.adaptive_average_pool("pool", net.max_pool("max", x, {.kernel = {2, 2}, .stride = {2, 2}}), 1);
  net.linear("head", net.flatten("flat", x), 5);
  const graph::OpGraph graph = net.build();
  check_training(cut_model(graph, {.mini_batch = 8, .micro_batch = 4}), {4});
  check_training(
      cut_model(graph,
                {.mini_batch = 8, .micro_batch = 4, .replicas = 2, .recompute = plan::kRecomputeStage}),
      {2});
  check_training(cut_model(graph, {.schedule = "zb_h1", .mini_batch = 8, .micro_batch = 2}), {2});
}

TEST_CASE("in bf16 a replay learns what one device does, to the rounding of its sums") {
  const auto host = kernels::open_device("host", 1);
  if (!host->supports(kernels::Precision::bf16)) {
    support::skip("the host does not compute in bf16");
    return;
  }
  const CutModel cut = cut_model(small_chain(), {.schedule = "zb_h1", .rank = {0, 1}, .mini_batch = 8});
  const replay::TrainingSetup setup{.precision = kernels::Precision::bf16, .rule = {.rate = 1e-3f}};
  const Weights expected = replay::test::gradients(*host, cut.graph, setup,
                                                   replay::test::first_weights(cut.graph, setup), {0, 8}, 8);
  const replay::DevicePrograms program = replay::lower(cut.graph, {cut.graph, cut.plan});
  replay::test::RoundRobin replayed(*host, cut.problem(), cut.plan, program, setup);
  replayed.run();
  CHECK(replay::test::distance(replayed.gradients(), expected) < 0.05);
}

TEST_CASE("a replay gives the same bits again") {
  const auto host = kernels::open_device("host", 1);
  const CutModel cut = cut_model(small_chain(), {.mini_batch = 8, .replicas = 2});
  const replay::DevicePrograms program = replay::lower(cut.graph, {cut.graph, cut.plan});
  const auto train = [&](std::uint64_t seed) {
    replay::test::RoundRobin replayed(*host, cut.problem(), cut.plan, program, {.seed = seed});
    replayed.run();
    return replayed.weights();
  };
  CHECK(train(1) == train(1));
  CHECK(train(1) != train(2));
}

TEST_CASE("every optimizer") {
  for (const auto optimizer : {plan::Optimizer::sgd, plan::Optimizer::momentum, plan::Optimizer::adam}) {
    CAPTURE(plan::name(optimizer));
    check_training(cut_model(small_chain(), {.optimizer = optimizer}), {4});
  }
}

namespace {

using Given = std::map<std::string, std::string>;

/// A copy of the model in which each operator has its own parameters: stages share none.
graph::OpGraph untied(const graph::OpGraph& model) {
  graph::GraphBuilder builder(model.name());
  const auto wires = kernels::wire(model, kernels::Precision::fp32);
  for (std::size_t v = 0; v < model.size(); ++v) {
    graph::Operator op = model.op(core::OpId(v));
    op.parameters = 0;
    for (const kernels::ParameterSlot& parameter : wires[v].parameters)
      op.parameters += parameter.slot.count();
    op.parameters_of.clear();
    builder.add(op, model.operands(core::OpId(v)));
  }
  return builder.build();
}

void check_zoo(const std::string& name, const Given& given, const CutSetting& cut,
               const TrainingAccuracy& accuracy) {
  CAPTURE(name);
  CAPTURE(cut.schedule);
  check_training(cut_model(untied(models::build(name, given)), cut), accuracy);
}

}  // namespace

TEST_CASE("small models of the zoo, cut along their branches or in a row") {
  const std::vector<CutSetting> cuts = {
      {},
      {.sequential = true},
      {.schedule = "gpipe", .recompute = plan::kRecomputeStage},
      {.schedule = "zb_h1", .micro_batch = 1},
      {.replicas = 2},
      {.rank = {0}, .recompute = plan::kRecomputeLayers},
  };
  for (const auto& [name, given] : replay::test::small_zoo())
    for (const CutSetting& cut : cuts) check_zoo(name, given, cut, {cut.mini_batch, 1e-4});
}

TEST_CASE("split attention's cores are computed again; one that is inside an operator is refused") {
  auto given = replay::test::small_zoo().at("gpt");
  CutSetting cut{.rank = {0}, .recompute = plan::kRecomputeCore};
  given["attention"] = "split";
  for (const char* schedule : {"zb_h1", "1f1b"}) {
    cut.schedule = schedule;
    check_training(cut_model(models::build("gpt", given), cut), {cut.mini_batch, 1e-4});
  }
  given["attention"] = "fused";
  const CutModel fused = cut_model(models::build("gpt", given), cut);
  CHECK_THROWS_WITH_AS(replay::lower(fused.graph, {fused.graph, fused.plan}),
                       "stage 0: the core of 'layer0.attention' is inside one kernel, and selective "
                       "recomputation of it is not replayed; with attention=split it is",
                       core::BadInput);
}

TEST_CASE("after a request to stop, a device draws no weights and begins no other kernel") {
  const auto host = kernels::open_device("host", 1);
  const CutModel model = cut_model(small_chain(), {.rank = {0, 1}, .mini_batch = 8});
  const auto program = replay::lower(model.graph, {model.graph, model.plan});
  std::atomic<bool> stop{false};
  const replay::TrainingSetup setup{.stop = core::StopToken(&stop)};
  replay::test::RoundRobin run(*host, model.problem(), model.plan, program, setup);
  stop = true;
  CHECK_THROWS_AS(run.run(), core::InterruptedError);
  CHECK_THROWS_AS(replay::test::RoundRobin(*host, model.problem(), model.plan, program, setup),
                  core::InterruptedError);
}

TEST_CASE("operators tied within a stage add to one gradient") {
  for (const char* name : {"gpt", "encoder_decoder"})
    check_training(
        cut_model(models::build(name, replay::test::small_zoo().at(name)), {.rank = {0}, .replicas = 2}),
        {4});
}

TEST_CASE("operators tied across stages keep equal copies, and train as on one device") {
  const std::vector<std::pair<CutSetting, std::vector<std::size_t>>> cuts = {
      {{.rank = {0, 1, 2}}, {1, 1, 1}},
      {{.rank = {0, 1}, .mini_batch = 6, .micro_batch = 3}, {1, 3}},
      {{.schedule = "gpipe", .rank = {0, 1, 2}, .recompute = plan::kRecomputeStage}, {2, 1, 1}},
      {{.schedule = "zb_h1", .rank = {0, 1}, .mini_batch = 8}, {2, 2}},
      {{.schedule = "interleaved_1f1b", .rank = {0, 1, 0, 1}, .mini_batch = 8}, {2, 1}},
      {{.schedule = "zbv", .rank = {0, 1, 1, 0}, .mini_batch = 8}, {1, 2}},
  };
  for (const std::string name : {"gpt", "encoder_decoder"})
    for (auto [cut, replicas] : cuts)
      for (const auto optimizer : {plan::Optimizer::sgd, plan::Optimizer::adam}) {
        CAPTURE(name);
        CAPTURE(cut.schedule);
        CAPTURE(plan::name(optimizer));
        cut.optimizer = optimizer;
        cut.sequential = true;
        check_training(replay::test::shared_model(name, cut, replicas), {1, 1e-4, 4, 1e-2f});
      }
  check_training(replay::test::crossed_chain(), {1, 1e-5, 4});
}

TEST_SUITE("slow") {
  // BERT is among those over groups of two devices (tensor_parallel_test.cpp): each costs half a minute.
  TEST_CASE("large models of the zoo") {
    const auto sgd = plan::Optimizer::sgd;
    check_zoo("resnet50", {{"resolution", "64"}}, {}, {2});
    check_zoo("inception_v3", {{"resolution", "75"}}, {.schedule = "zb_h1", .replicas = 2}, {1});
    check_zoo("vgg16", {}, {.rank = {0, 1}, .mini_batch = 2, .micro_batch = 1, .optimizer = sgd},
              {2, 1e-4, 1});
  }
}
