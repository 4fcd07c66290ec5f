// Training without a flush follows the papers' recurrences (slow twins, written from the formulas).

#include <doctest/doctest.h>

#include <algorithm>

#include "cut_model.hpp"
#include "models/layers.hpp"
#include "penstock/kernels/devices.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "round_robin.hpp"

using namespace penstock;
using core::OpId;
using replay::test::cut_model;
using replay::test::CutModel;
using replay::test::CutSetting;
using replay::test::Weights;

namespace {

graph::OpGraph six_layers() {
  models::Layers net("six");
  auto x = net.input("x", {5});
  for (int i = 0; i < 6; ++i)
    x = net.linear("layer" + std::to_string(i), x, 4 + i % 3,
                   {.bias = true, .fused = models::Activation::tanh});
  return net.build();
}

/// updates[t]: all weights after t updates. Delay of a stage: by how many updates its weights are behind.
using Delay = int (*)(std::size_t stage, std::size_t stages);

/// The weights that mini-batch t meets: of each stage those after max(0, t - delay) updates.
Weights met(const CutModel& cut, const std::vector<Weights>& updates, int t, Delay delay) {
  Weights out;
  for (std::size_t s = 0; s < cut.plan.stages.size(); ++s)
    for (const OpId op : cut.plan.stages[s].operators) {
      const auto version = static_cast<std::size_t>(std::max(0, t - delay(s, cut.plan.stages.size())));
      if (const auto own = updates[version].find(op); own != updates[version].end()) out.insert(*own);
    }
  return out;
}

/// w(t+1) = w(t) - rate * gradient(weights met by t), `times` over from where the last run has ended.
void check_recurrence(const CutModel& cut, Delay delay, int times, int updates_at_least) {
  const auto host = kernels::open_device("host", 1);
  replay::TrainingSetup setup;
  setup.rule.rate = 0.2f / static_cast<float>(cut.plan.training.mini_batch);
  const replay::DevicePrograms program = replay::lower(cut.graph, {cut.graph, cut.plan});
  CHECK(program.mini_batches * times >= updates_at_least);
  replay::test::RoundRobin replayed(*host, cut.problem(), cut.plan, program, setup);
  const Weights first = replay::test::first_weights(cut.graph, setup);
  Weights weights = first;
  const std::int64_t size = cut.plan.training.mini_batch;
  for (int run = 0; run < times; ++run) {
    std::vector<Weights> updates = {weights};
    for (int t = 0; t < program.mini_batches; ++t) {
      const Weights gradients = replay::test::gradients(*host, cut.graph, setup, met(cut, updates, t, delay),
                                                        {t * size, size}, size);
      replay::test::ReferenceOptimizer(setup.rule).step(weights, gradients);
      updates.push_back(weights);
    }
    replayed.run();
    CHECK(replay::test::distance(replayed.weights(), weights) < 1e-5);
  }
  CHECK(replay::test::distance(weights, first) > 0.1);  // it has learnt something
}

CutSetting without_flush(const std::string& schedule, std::int64_t mini_batch) {
  return {.schedule = schedule,
          .rank = {0, 1, 2},
          .mini_batch = mini_batch,
          .micro_batch = 2,
          .optimizer = plan::Optimizer::sgd};
}

}  // namespace

// w(t+1) = w(t) - rate f'(w_0(t-n+1), w_1(t-n+2), ..., w_(n-1)(t)) in a row of n stages (PipeDream, Narayanan
// et al., SOSP 2019, section 3.3).
TEST_CASE("weight stashing follows PipeDream's recurrence") {
  const Delay delay = [](std::size_t stage, std::size_t stages) {
    return static_cast<int>(stages - 1 - stage);
  };
  check_recurrence(cut_model(six_layers(), without_flush("pipedream", 2)), delay, 1, 20);
  CutSetting recomputed = without_flush("pipedream", 2);
  recomputed.recompute = plan::kRecomputeStage;
  check_recurrence(cut_model(six_layers(), recomputed), delay, 1, 20);
}

// All stages use w(t-n+1), what stage 0 had when the micro-batch entered.
TEST_CASE("vertical sync gives all stages the weights of the first") {
  const Delay delay = [](std::size_t, std::size_t stages) { return static_cast<int>(stages - 1); };
  check_recurrence(cut_model(six_layers(), without_flush("pipedream_vsync", 2)), delay, 1, 20);
}

// W(t+1) = W(t) - rate f'(W(t-1)) (PipeDream-2BW, Narayanan et al., ICML 2021, section 3.1).
TEST_CASE("double-buffered weights are one update behind, replicas or not") {
  const Delay delay = [](std::size_t, std::size_t) { return 1; };
  check_recurrence(cut_model(six_layers(), without_flush("pipedream_2bw", 8)), delay, 3, 20);
  CutSetting replicated = without_flush("pipedream_2bw", 16);
  replicated.replicas = 2;
  check_recurrence(cut_model(six_layers(), replicated), delay, 4, 20);
}

// One stage waits for no other: w(t+1) = w(t) - rate f'(w(t)), whatever the way to train without a flush.
TEST_CASE("on one device training without a flush is training") {
  const Delay none = [](std::size_t, std::size_t) { return 0; };
  for (const std::string schedule : {"pipedream", "pipedream_vsync", "pipemare"}) {
    CAPTURE(schedule);
    CutSetting alone = without_flush(schedule, 2);
    alone.rank = {0};
    check_recurrence(cut_model(six_layers(), alone), none, 2, 20);
  }
}
