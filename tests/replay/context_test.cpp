// Context groups: devices with some of the tokens of every sample learn what one device with all of them
// does.

#include <doctest/doctest.h>

#include "check_training.hpp"
#include "models/catalogue.hpp"
#include "models/layers.hpp"
#include "penstock/core/error.hpp"
#include "penstock/kernels/devices.hpp"
#include "random_training.hpp"
#include "reference.hpp"
#include "round_robin.hpp"
#include "support/skip.hpp"

using namespace penstock;
using plan::ContextExchange;
using replay::test::check_training;
using replay::test::cut_model;
using replay::test::CutModel;
using replay::test::CutSetting;
using Given = std::map<std::string, std::string>;

namespace {

constexpr double kRounding = 1e-4;
constexpr ContextExchange kExchanges[] = {ContextExchange::all_gather, ContextExchange::ulysses,
                                          ContextExchange::ring};

const std::map<std::string, Given> kSmall = {
    {"transformer", {{"layers", "2"}, {"hidden", "8"}, {"heads", "4"}, {"sequence", "8"}}},
    {"gpt", {{"vocabulary", "13"}, {"layers", "1"}, {"hidden", "8"}, {"heads", "4"}, {"sequence", "4"}}},
    {"mmt", {{"branches", "2"}, {"layers", "1"}, {"hidden", "8"}, {"heads", "4"}, {"sequence", "4"}}}};

/// Four queries of width 12 to six keys of width 5 and values of width 7, with biases.
graph::OpGraph crossing() {
  models::Layers net("crossing");
  const auto x = net.linear("queries", net.input("x", {4, 12}), 12),
             k = net.linear("keys", net.input("k", {6, 3}), 5, {.bias = true}),
             v = net.layer_norm("values", net.input("v", {6, 7}));
  const auto met = net.attention("cross", x, k, v, 4, {.bias = true});
  return net.linear("last", net.add("sum", {x, met}), 3), net.build();
}

std::string refusal(const graph::OpGraph& graph, const CutSetting& cut) {
  try {
    check_training(cut_model(graph, cut), {cut.mini_batch});
  } catch (const core::BadInput& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("transformers over context groups, in stages, replicated, recomputed, split backwards") {
  const std::vector<CutSetting> cuts = {
      {.rank = {0}, .context_parallel = 2},
      {.rank = {0, 1}, .optimizer = plan::Optimizer::sgd, .context_parallel = 4},
      {.schedule = "gpipe",
       .rank = {0, 1},
       .replicas = 2,
       .recompute = plan::kRecomputeStage,
       .context_parallel = 2},
      {.rank = {0, 1}, .recompute = plan::kRecomputeLayers, .context_parallel = 2},
      {.schedule = "zb_h1",
       .rank = {0, 1},
       .micro_batch = 1,
       .optimizer = plan::Optimizer::sgd,
       .context_parallel = 2},
      {.schedule = "interleaved_1f1b", .rank = {0, 1, 0, 1}, .micro_batch = 1, .context_parallel = 2},
  };
  for (const auto& [name, given] : kSmall)
    for (CutSetting cut : cuts)
      for (const ContextExchange exchange : kExchanges) {
        CAPTURE(name);
        CAPTURE(cut.schedule);
        CAPTURE(cut.context_parallel);
        CAPTURE(plan::name(exchange));
        cut.exchange = exchange;
        check_training(cut_model(models::build(name, given), cut), {cut.mini_batch, kRounding});
      }
}

TEST_CASE("queries meet keys and values of other lengths and widths") {
  for (const ContextExchange exchange : kExchanges) {
    CAPTURE(plan::name(exchange));
    check_training(cut_model(crossing(), {.rank = {0, 1}, .context_parallel = 2, .exchange = exchange}),
                   {4, kRounding});
  }
}

TEST_CASE("context groups of different sizes, and stages without, hand each other whole tensors") {
  CutModel model = cut_model(models::build("transformer", kSmall.at("transformer")),
                             {.rank = {0, 1}, .micro_batch = 4, .context_parallel = 4});
  model.plan.stages[1].context_parallel = 2;  // two replicas
  check_training(model, {4, kRounding});
  std::swap(model.plan.stages[0].context_parallel, model.plan.stages[1].context_parallel);
  check_training(model, {4, kRounding});
  model.plan.stages[0].context_parallel = 1;
  check_training(model, {4, kRounding});
  model.plan.stages[0].tensor_parallel = 2;
  check_training(model, {4, kRounding});
}

TEST_CASE("random models over context groups") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    check_training(replay::test::random_context_training(seed), {24, kRounding, 1});
  }
}

TEST_SUITE("slow") {
  TEST_CASE("many random models over context groups") {
    for (std::uint64_t seed = 20; seed < 400; ++seed) {
      CAPTURE(seed);
      // A softmax that puts all its weight on one key has gradients of Q and K that are differences of large
      // numbers. The rest is rounding, a few last bits of the largest gradient (seeds 151 and 302).
      check_training(replay::test::random_context_training(seed), {24, 10 * kRounding, 1});
    }
  }
}

TEST_CASE("in bf16 context groups learn what one device does, to the rounding of their sums") {
  const auto host = kernels::open_device("host", 1);
  if (!host->supports(kernels::Precision::bf16)) {
    support::skip("the host does not compute in bf16");
    return;
  }
  for (const ContextExchange exchange : kExchanges) {
    CAPTURE(plan::name(exchange));
    const CutModel model = cut_model(models::build("transformer", kSmall.at("transformer")),
                                     {.rank = {0, 1}, .context_parallel = 2, .exchange = exchange});
    const replay::TrainingSetup setup{.precision = kernels::Precision::bf16, .rule = {.rate = 1e-3f}};
    const auto expected = replay::test::gradients(*host, model.graph, setup,
                                                  replay::test::first_weights(model.graph, setup), {0, 4}, 4);
    const auto program = replay::lower(model.graph, {model.graph, model.plan});
    replay::test::RoundRobin run(*host, model.problem(), model.plan, program, setup);
    run.run();
    CHECK(replay::test::distance(run.gradients(), expected) < 0.1);
  }
}

TEST_CASE("operators that context groups cannot divide are refused by name") {
  Given odd = kSmall.at("transformer");
  odd["sequence"] = "5";
  CHECK(refusal(models::build("transformer", odd), {.rank = {0}, .context_parallel = 2}) ==
        "stage 0: `context_parallel` divides tokens, and 'chain.layer0.attention' has 5 queries, which 2 "
        "groups "
        "do not divide");
  Given split = kSmall.at("gpt");
  split["attention"] = "split";
  CHECK(refusal(models::build("gpt", split), {.rank = {0}, .context_parallel = 2}) ==
        "stage 0: `context_parallel` divides tokens, and 'layer0.attention.scores' has no axis of tokens");
  CHECK(refusal(crossing(), {.rank = {0}, .tensor_parallel = 2, .context_parallel = 2}) ==
        "stage 0: context parallelism of tensor-parallel groups is not replayed");
}
