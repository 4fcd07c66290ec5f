// Expert groups: devices with some of the experts of every mixture learn what one device with all of them
// does.

#include <doctest/doctest.h>

#include <algorithm>

#include "check_training.hpp"
#include "models/layers.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/random.hpp"
#include "penstock/kernels/devices.hpp"
#include "round_robin.hpp"

using namespace penstock;
using replay::test::check_training;
using replay::test::cut_model;
using replay::test::CutModel;
using replay::test::CutSetting;

namespace {

constexpr double kRounding = 1e-4;

struct LayerForm {
  std::int64_t experts = 4, chosen = 2, tokens = 6;
  bool frozen = false;  ///< of the first layer, all but the router
  bool in_turn = false;
};

/// Two layers of norm, attention, norm, router and experts, with residuals around; gated experts and plain
/// ones.
graph::OpGraph mixtures(const LayerForm& form) {
  models::Layers net("mixtures");
  auto x = net.embedding("table", net.indices("rows", form.tokens), {11, 6});
  for (const std::string layer : {"layer0", "layer1"}) {
    const auto met = net.attention(layer + ".attention", x, x, x, 2);
    const auto normed = net.layer_norm(layer + ".norm", net.add(layer + ".add0", {x, met}));
    const auto scores = net.softmax(layer + ".scores", net.linear(layer + ".router", normed, form.experts));
    net.freeze(form.frozen && layer == "layer0");
    const auto mixed =
        net.experts(layer + ".experts", normed, scores,
                    {.chosen = form.chosen, .inner = 7, .gated = layer == "layer0", .in_turn = form.in_turn});
    net.freeze(false);
    x = net.add(layer + ".add1", {normed, mixed});
  }
  net.linear("last", x, 4);
  return net.build();
}

std::string refusal(const graph::OpGraph& graph, const CutSetting& cut) {
  try {
    check_training(cut_model(graph, cut), {cut.mini_batch});
  } catch (const core::BadInput& error) {
    return error.what();
  }
  return "none";
}

CutModel random_mixture(std::uint64_t seed) {
  core::Random random(seed);
  CutSetting cut{.rank = {0, 1}, .mini_batch = 24, .micro_batch = 12};
  if (random.chance(0.3)) cut.rank = {0};
  cut.schedule = random.chance(0.5) ? "1f1b" : "zb_h1";
  cut.expert_parallel = random.between(2, 4);
  cut.context_parallel = random.between(1, 3);
  cut.exchange = static_cast<plan::ContextExchange>(random.between(0, 2));
  if (cut.exchange == plan::ContextExchange::ulysses && cut.context_parallel == 3) cut.context_parallel = 2;
  cut.replicas = static_cast<std::size_t>(cut.expert_parallel * random.between(1, 2));
  if (random.chance(0.3)) cut.recompute = plan::kRecomputeStage;
  const std::int64_t experts = cut.expert_parallel * random.between(1, 2);
  return cut_model(
      mixtures({.experts = experts,
                .chosen = random.between(1, static_cast<int>(std::min<std::int64_t>(3, experts))),
                .frozen = random.chance(0.3)}),
      cut);
}

}  // namespace

TEST_CASE("mixtures over expert groups: in stages, held once and twice, recomputed, split backwards") {
  const std::vector<CutSetting> cuts = {
      {.rank = {0}, .replicas = 2, .expert_parallel = 2},
      {.rank = {0, 1}, .micro_batch = 4, .replicas = 4, .expert_parallel = 2},
      {.rank = {0, 1}, .micro_batch = 4, .replicas = 4, .expert_parallel = 4},
      {.schedule = "gpipe",
       .rank = {0, 1},
       .replicas = 2,
       .recompute = plan::kRecomputeStage,
       .expert_parallel = 2},
      {.rank = {0, 1}, .replicas = 2, .recompute = plan::kRecomputeLayers, .expert_parallel = 2},
      {.schedule = "zb_h1",
       .rank = {0, 1},
       .replicas = 2,
       .optimizer = plan::Optimizer::sgd,
       .expert_parallel = 2},
      {.schedule = "interleaved_1f1b", .rank = {0, 1, 0, 1}, .replicas = 2, .expert_parallel = 2}};
  for (const CutSetting& cut : cuts) {
    CAPTURE(cut.schedule);
    CAPTURE(cut.replicas);
    CAPTURE(cut.expert_parallel);
    check_training(cut_model(mixtures({}), cut), {cut.mini_batch, kRounding});
  }
}

TEST_CASE("expert groups of context groups: within one, of several, across") {
  for (const int context : {2, 3})
    for (const int experts : {2, 3, 4, 6}) {
      const int replicas = experts == 3 || experts == 6 ? 3 * (context == 2 ? 1 : 2) : 4;
      CAPTURE(context);
      CAPTURE(experts);
      check_training(cut_model(mixtures({.experts = 12}), {.rank = {0, 1},
                                                           .mini_batch = 24,
                                                           .micro_batch = 12,
                                                           .replicas = static_cast<std::size_t>(replicas),
                                                           .context_parallel = context,
                                                           .expert_parallel = experts}),
                     {24, kRounding});
    }
}

// Micro-batches of 3 samples over 2 replicas: rows of two samples meet those of one.
TEST_CASE("replicas with different numbers of samples exchange rows") {
  check_training(
      cut_model(mixtures({}),
                {.rank = {0, 1}, .mini_batch = 6, .micro_batch = 3, .replicas = 2, .expert_parallel = 2}),
      {6, kRounding});
}

// One row of one sample takes one of eight experts: most devices get none.
TEST_CASE("devices to which no row goes") {
  check_training(
      cut_model(mixtures({.experts = 8, .chosen = 1, .tokens = 1}),
                {.rank = {0}, .mini_batch = 16, .micro_batch = 8, .replicas = 8, .expert_parallel = 8}),
      {16, kRounding});
}

TEST_CASE("mixtures whose rows take experts in turn") {
  check_training(
      cut_model(mixtures({.in_turn = true}), {.rank = {0, 1}, .replicas = 2, .expert_parallel = 2}),
      {4, kRounding});
}

TEST_CASE("random mixtures over expert and context groups") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    check_training(random_mixture(seed), {24, kRounding, 1});
  }
}

TEST_SUITE("slow") {
  TEST_CASE("many random mixtures over expert and context groups") {
    for (std::uint64_t seed = 20; seed < 300; ++seed) {
      CAPTURE(seed);
      check_training(random_mixture(seed), {24, kRounding, 1});
    }
  }
}

TEST_CASE("a device holds its experts, and gradients and optimizer state of these") {
  const CutModel model = cut_model(
      mixtures({}), {.rank = {0}, .replicas = 4, .optimizer = plan::Optimizer::adam, .expert_parallel = 4});
  const auto host = kernels::open_device("host", 1);
  const auto program = replay::lower(model.graph, {model.graph, model.plan});
  const auto worker = replay::make_worker(*host, model.problem(), model.plan, core::DeviceId(1), program, {});
  const core::Bytes held = cost::stage_load(model.problem(), model.plan.stages[0]).parameters;
  CHECK(held < core::Bytes(model.graph.parameters() * 4));
  CHECK(at(worker->memory().now, plan::MemoryKind::weights) == held);
  CHECK(at(worker->memory().now, plan::MemoryKind::gradients) == held);
  CHECK(at(worker->memory().now, plan::MemoryKind::optimizer) == held * 2);
}

TEST_CASE("operators that expert groups cannot divide are refused by name") {
  CHECK(refusal(mixtures({.experts = 3}), {.rank = {0}, .replicas = 2, .expert_parallel = 2}) ==
        "stage 0: `expert_parallel`: 'layer0.experts' has 3 experts, which 2 devices do not divide");
  CHECK(refusal(mixtures({}), {.rank = {0}, .replicas = 2, .tensor_parallel = 2, .expert_parallel = 2}) ==
        "stage 0: expert parallelism of tensor-parallel groups is not replayed");
}
