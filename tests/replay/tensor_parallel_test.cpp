// Tensor-parallel groups train as one device does.

#include <doctest/doctest.h>

#include "check_training.hpp"
#include "models/catalogue.hpp"
#include "models/layers.hpp"
#include "penstock/core/error.hpp"
#include "penstock/kernels/devices.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "random_training.hpp"
#include "round_robin.hpp"
#include "support/skip.hpp"

using namespace penstock;
using core::OpId;
using graph::OpKind;
using plan::Partition;
using replay::test::check_training;
using replay::test::cut_model;
using replay::test::CutModel;
using replay::test::CutSetting;
using replay::test::Weights;

namespace {

using Given = std::map<std::string, std::string>;

/// Sums in another order, as groups and processors have it; the gradient of a key's bias is zero, and its
/// rounding shows in the distance. What is left out of a gradient is a thousandth of it at least.
constexpr double kRounding = 1e-4;

const std::map<std::string, Given> kSmall = {
    {"transformer", {{"layers", "2"}, {"hidden", "8"}, {"heads", "4"}, {"sequence", "5"}}},
    {"gpt",
     {{"vocabulary", "13"},
      {"layers", "1"},
      {"hidden", "8"},
      {"heads", "4"},
      {"sequence", "4"},
      {"tied_head", "no"}}},
    {"mmt", {{"branches", "2"}, {"layers", "1"}, {"hidden", "8"}, {"heads", "4"}, {"sequence", "3"}}}};

/// All operators of a kind.
void divide(CutModel& model, OpKind kind, Partition how) {
  for (plan::Stage& stage : model.plan.stages)
    for (const OpId id : stage.operators)
      if (model.graph.op(id).kind == kind) stage.partition[id] = how;
}

/// Attention upon attention magnifies rounding more than the zoo does.
void check_random_models(std::uint64_t first, std::uint64_t end) {
  for (std::uint64_t seed = first; seed < end; ++seed) {
    CAPTURE(seed);
    check_training(replay::test::random_training(seed), {24, 1e-4, 1});
  }
}

/// Two layers of norm, router and four experts of which a row takes two, with a residual around each.
graph::OpGraph mixtures() {
  models::Layers net("mixtures");
  auto x = net.embedding("table", net.indices("rows", 5), {11, 6});
  for (const std::string layer : {"layer0", "layer1"}) {
    const auto normed = net.layer_norm(layer + ".norm", x);
    const auto scores = net.softmax(layer + ".scores", net.linear(layer + ".router", normed, 4));
    const auto mixed = net.experts(layer + ".experts", normed, scores,
                                   {.chosen = 2, .inner = 7, .gated = layer == "layer0"});
    x = net.add(layer + ".add", {x, mixed});
  }
  net.linear("last", x, 4);
  return net.build();
}

std::string refusal(const graph::OpGraph& graph, const CutSetting& cut, OpKind kind, Partition how) {
  CutModel model = cut_model(graph, cut);
  divide(model, kind, how);
  try {
    check_training(model, {cut.mini_batch});
  } catch (const core::BadInput& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("transformers over groups of two and four, in stages, replicated, recomputed, split backwards") {
  const std::vector<CutSetting> cuts = {
      {.rank = {0}, .tensor_parallel = 2},
      {.rank = {0}, .tensor_parallel = 2, .recompute = plan::kRecomputeLayers},
      {.rank = {0, 1}, .tensor_parallel = 4, .optimizer = plan::Optimizer::sgd},
      {.schedule = "gpipe",
       .rank = {0, 1},
       .replicas = 2,
       .tensor_parallel = 2,
       .recompute = plan::kRecomputeStage},
      {.schedule = "zb_h1",
       .rank = {0, 1},
       .micro_batch = 1,
       .tensor_parallel = 2,
       .optimizer = plan::Optimizer::sgd},
      {.schedule = "interleaved_1f1b", .rank = {0, 1, 0, 1}, .micro_batch = 1, .tensor_parallel = 2},
  };
  for (const auto& [name, given] : kSmall)
    for (const CutSetting& cut : cuts) {
      CAPTURE(name);
      CAPTURE(cut.schedule);
      CAPTURE(cut.tensor_parallel);
      check_training(cut_model(models::build(name, given), cut), {cut.mini_batch, kRounding});
    }
}

TEST_CASE("mixtures of experts: in stages, replicated, every expert's columns over two and three devices") {
  const std::vector<CutSetting> cuts = {{.rank = {0, 1}},
                                        {.rank = {0, 1}, .replicas = 2, .recompute = plan::kRecomputeLayers},
                                        {.rank = {0}, .tensor_parallel = 2},
                                        {.schedule = "zb_h1",
                                         .rank = {0, 1},
                                         .micro_batch = 1,
                                         .tensor_parallel = 3,
                                         .optimizer = plan::Optimizer::sgd}};
  for (const CutSetting& cut : cuts) {
    CAPTURE(cut.tensor_parallel);
    check_training(cut_model(mixtures(), cut), {cut.mini_batch, kRounding});
  }
}

// Without biases, of whose gradient Adam would take the rounding for its direction.
TEST_CASE("groups train with Adam") {
  for (const char* name : {"transformer", "mmt"})
    check_training(
        cut_model(models::build(name, kSmall.at(name)),
                  {.rank = {0, 1}, .replicas = 2, .tensor_parallel = 2, .optimizer = plan::Optimizer::adam}),
        {4, kRounding});
}

TEST_CASE("heads of a width of their own are divided by that width") {
  // Four heads of 3, 12 side by side, in a hidden width of 8. A device of two has 2 heads, columns 0 to 5 or
  // 6 to 11.
  models::Layers net("wide");
  const auto x = net.linear("in", net.input("x", {5, 8}), 8);
  net.linear("out", net.attention("heads", x, x, x, 4, {.bias = true, .head_width = 3}), 8);
  check_training(cut_model(net.build(), {.rank = {0}, .tensor_parallel = 2}), {4, kRounding});
}

TEST_CASE("attention spelt out, heads tied to the table, recommenders") {
  Given split = kSmall.at("gpt");
  split["attention"] = "split";
  check_training(cut_model(models::build("gpt", split), {.rank = {0, 1}, .tensor_parallel = 2}),
                 {4, kRounding});
  Given tied = kSmall.at("gpt");
  tied["tied_head"] = "yes";
  check_training(cut_model(models::build("gpt", tied), {.rank = {0}, .replicas = 2, .tensor_parallel = 2}),
                 {4, kRounding});
  // Devices have samples of their own, of both table and head: one sum has the gradients of both.
  CutModel by_samples = cut_model(models::build("gpt", tied), {.rank = {0}, .tensor_parallel = 2});
  const OpId head(by_samples.graph.size() - 1);
  for (const OpId id : {by_samples.graph.owner(head), head})
    by_samples.plan.stages[0].partition[id] = Partition::batch;
  check_training(by_samples, {4, kRounding});
  const Given towers = {{"towers", "2"}, {"width", "8"}};
  const Given tables = {{"branches", "2"}, {"table_rows", "20"}, {"tower_input", "8"}, {"width", "8"}};
  for (const graph::OpGraph& graph : {models::build("candle_uno", towers), models::build("dlrm", tables)}) {
    CutModel model = cut_model(graph, {.rank = {0, 1}, .tensor_parallel = 2});
    model.plan.stages[1].partition[OpId(graph.size() - 1)] = Partition::whole;  // makes one number
    check_training(model, {4, kRounding});
  }
}

// Batch norm sees only the samples of its device; by channels it sees all of them. Megatron-LM's embedding
// group: devices of one number hold the same rows of the table.
TEST_CASE("parameters that stages share are summed over the devices of one number") {
  Given gpt = kSmall.at("gpt");
  gpt["tied_head"] = "yes";
  const Given& encoder_decoder = replay::test::small_zoo().at("encoder_decoder");
  for (const CutSetting& cut :
       {CutSetting{.rank = {0, 1}, .tensor_parallel = 2},
        CutSetting{.schedule = "gpipe",
        .rank = {0, 1, 2},
        .replicas = 2,
        .tensor_parallel = 2,
        .recompute = plan::kRecomputeStage},
        CutSetting{.schedule = "zb_h1", .rank = {0, 1}, .micro_batch = 1, .tensor_parallel = 2},
        CutSetting{
            .schedule = "interleaved_1f1b", .rank = {0, 1, 0, 1}, .micro_batch = 1, .tensor_parallel = 2}})
    for (const auto& [name, given] : {std::pair("gpt", gpt), {"encoder_decoder", encoder_decoder}}) {
      CAPTURE(std::string(name));
      CAPTURE(cut.schedule);
      check_training(cut_model(models::build(name, given), cut), {cut.mini_batch, kRounding});
    }
  check_training(cut_model(models::build("gpt", gpt), {.rank = {0, 1}, .tensor_parallel = 4}),
                 {4, kRounding});
}

TEST_CASE("images: convolutions, batch norms and pools by channels, convolutions by what they read") {
  models::Layers net("images");
  const models::Window three{.kernel = {3, 3}, .padding = {1, 1}};
  auto x = net.conv2d("conv0", net.input("x", {3, 8, 8}), 4, three);
  x = net.activation("relu0", net.batch_norm("norm0", x), models::Activation::relu);
  x = net.max_pool("max", x, {.kernel = {2, 2}, .stride = {2, 2}});
  x = net.activation("tanh1", net.conv2d("conv1", x, 6, three, true), models::Activation::tanh);
  x = net.adaptive_average_pool("pool", x, 1);
  net.linear("head", net.flatten("flat", x), 5, {.bias = true});
  CutModel model =
      cut_model(net.build(), {.rank = {0, 1}, .mini_batch = 8, .micro_batch = 4, .tensor_parallel = 2});
  check_training(model, {4, kRounding});
  for (plan::Stage& stage : model.plan.stages) stage.shares = {1, 2};
  divide(model, OpKind::norm, Partition::column);
  divide(model, OpKind::pool, Partition::column);
  check_training(model, {4, kRounding});
}

// Every device has some channels of each part of a concatenation, and the next convolution and pool read them
// as they lie. Whole tensors are cut, and a tensor that a reader needs whole is gathered.
TEST_CASE("images side by side, one in the other, by channels") {
  models::Layers net("branches");
  const models::Window three{.kernel = {3, 3}, .padding = {1, 1}}, one{.kernel = {1, 1}};
  const auto x = net.input("x", {3, 6, 6});
  const auto inner = net.concat("inner", {net.conv2d("a", x, 4, three), net.conv2d("b", x, 3, one)}, 0);
  const auto outer =
      net.concat("outer", {inner, net.conv2d("c", x, 3, one), net.max_pool("p", inner, three)}, 0);
  auto y = net.activation("relu", net.batch_norm("norm", outer), models::Activation::relu);
  y = net.conv2d("d", net.average_pool("q", y, {.kernel = {2, 2}, .stride = {2, 2}}), 5, three, true);
  net.linear("head", net.flatten("flat", net.concat("last", {y, net.conv2d("e", y, 4, one)}, 0)), 4);
  const graph::OpGraph graph = net.build();
  for (const int devices : {2, 3}) {
    CutModel model =
        cut_model(graph, {.rank = {0, 1}, .mini_batch = 8, .micro_batch = 4, .tensor_parallel = devices});
    check_training(model, {4, kRounding});
    divide(model, OpKind::convolution, Partition::column);
    divide(model, OpKind::concat, Partition::column);
    check_training(model, {4, kRounding});
    divide(model, OpKind::pool, Partition::whole);
    check_training(model, {4, kRounding});
    divide(model, OpKind::concat, Partition::batch);
    check_training(model, {4, kRounding});
  }
}

TEST_CASE("random models, every operator divided at random, parts of different sizes") {
  check_random_models(0, 20);
}

TEST_SUITE("slow") {
  TEST_CASE("many random models, every operator divided at random") {
    check_random_models(20, 400);
  }
}

TEST_CASE("two branches, images beside text, cross attention") {
  for (const std::string name : {"case_study", "clip", "encoder_decoder"})
    for (const bool row : {false, true}) {
      CAPTURE(name);
      check_training(cut_model(models::build(name, replay::test::small_zoo().at(name)),
                               {.tensor_parallel = 2, .sequential = row}),
                     {4, kRounding});
    }
}

TEST_SUITE("slow") {
  // VGG-16 is among those of training_test.cpp: each costs half a minute.
  TEST_CASE("large models of the zoo over groups of two") {
    const auto sgd = plan::Optimizer::sgd;
    const auto check = [&](const std::string& name, const Given& given, CutSetting cut,
                           const replay::test::TrainingAccuracy& accuracy) {
      CAPTURE(name);
      cut.tensor_parallel = 2;
      check_training(cut_model(models::build(name, given), cut), accuracy);
    };
    const CutSetting whole_batch{.rank = {0, 1}, .micro_batch = 4};
    check("bert", {{"sequence", "8"}}, {.rank = {0, 1}, .optimizer = sgd},
          {.at_once = 4, .most = 3e-4, .iterations = 1});
    check("resnet50", {{"resolution", "64"}}, whole_batch, {.at_once = 4, .last_bits = 3});
    check("inception_v3", {{"resolution", "107"}}, whole_batch, {.at_once = 4, .last_bits = 3});
  }
}

TEST_CASE("groups of different sizes hand each other parts of messages") {
  const CutSetting cut{.rank = {0, 1}, .micro_batch = 4, .tensor_parallel = 4};
  const graph::OpGraph graph = models::build("transformer", kSmall.at("transformer"));
  CutModel model = cut_model(graph, cut);
  model.plan.stages[1].tensor_parallel = 2;  // two replicas
  check_training(model, {4, kRounding});
  std::swap(model.plan.stages[0].tensor_parallel, model.plan.stages[1].tensor_parallel);
  check_training(model, {4, kRounding});
  model.plan.stages[0].tensor_parallel = 1;
  check_training(model, {4, kRounding});
}

TEST_CASE("without a flush groups train as single devices do") {
  const auto host = kernels::open_device("host", 1);
  const graph::OpGraph graph = models::build("transformer", kSmall.at("transformer"));
  for (const char* schedule : {"pipedream", "pipedream_2bw"}) {
    CAPTURE(schedule);
    std::vector<Weights> found;
    for (const int devices : {1, 2, 4}) {
      const CutModel model = cut_model(
          graph,
          {.schedule = schedule, .rank = {0, 1}, .mini_batch = 8, .replicas = 2, .tensor_parallel = devices});
      const auto program = replay::lower(model.graph, {model.graph, model.plan});
      replay::test::RoundRobin run(*host, model.problem(), model.plan, program, {.rule = {.rate = 5e-5f}});
      run.run();
      found.push_back(run.weights());
    }
    CHECK(replay::test::distance(found[1], found[0]) < 1e-5);
    CHECK(replay::test::distance(found[2], found[0]) < 1e-5);
  }
}

TEST_CASE("in bf16 groups learn what one device does, to the rounding of their sums") {
  const auto host = kernels::open_device("host", 1);
  if (!host->supports(kernels::Precision::bf16)) {
    support::skip("the host does not compute in bf16");
    return;
  }
  const CutModel model = cut_model(models::build("transformer", kSmall.at("transformer")),
                                   {.rank = {0, 1}, .tensor_parallel = 2});
  const replay::TrainingSetup setup{.precision = kernels::Precision::bf16, .rule = {.rate = 1e-3f}};
  const Weights expected = replay::test::gradients(
      *host, model.graph, setup, replay::test::first_weights(model.graph, setup), {0, 4}, 4);
  const auto program = replay::lower(model.graph, {model.graph, model.plan});
  replay::test::RoundRobin run(*host, model.problem(), model.plan, program, setup);
  run.run();
  CHECK(replay::test::distance(run.gradients(), expected) < 0.1);
}

TEST_CASE("operators that cannot be divided are refused by name") {
  models::Layers net("mixed");
  const auto x =
      net.attention("heads", net.input("x", {3, 8}), net.input("y", {3, 8}), net.input("z", {3, 8}), 2);
  net.linear("last", net.layer_norm("norm", x), 4);
  const graph::OpGraph graph = net.build();
  const CutSetting two{.rank = {0}, .tensor_parallel = 2};
  CHECK(refusal(graph, two, OpKind::norm, Partition::column) ==
        "operator 'norm' (norm): a replay with tensor parallelism: it needs the statistics of all features, "
        "and "
        "is not divided by them");
  CHECK(refusal(graph, {.rank = {0}, .tensor_parallel = 4}, OpKind::attention, Partition::column) ==
        "operator 'heads' (attention): a replay with tensor parallelism: it has 2 heads, too few for device "
        "0 of "
        "its group");
  CHECK(refusal(graph, {.rank = {0}, .micro_batch = 1, .tensor_parallel = 2}, OpKind::norm,
                Partition::batch) == "operator 'norm': 1 samples are too few to be divided over 2 devices");
  CHECK(refusal(graph, {.rank = {0}, .micro_batch = 1, .tensor_parallel = 2}, OpKind::input,
                Partition::batch) == "operator 'z': 1 samples are too few to be divided over 2 devices");
  Given tied = kSmall.at("gpt");
  tied["tied_head"] = "yes";
  CHECK(refusal(models::build("gpt", tied), {.rank = {0, 1}, .tensor_parallel = 2}, OpKind::embedding,
                Partition::whole) ==
        "stages 0, 1 share the parameters of 'token.embedding': tensor parallelism that divides them "
        "differently is not replayed");
  CHECK(refusal(models::build("gpt", tied), two, OpKind::embedding, Partition::whole) ==
        "operators 'token.embedding' and 'head' share parameters, and are not divided alike; with tensor "
        "parallelism that is not replayed");
}
