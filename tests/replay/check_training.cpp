#include "check_training.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "penstock/core/random.hpp"
#include "penstock/kernels/devices.hpp"
#include "penstock/plan/violations.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "round_robin.hpp"

namespace penstock::replay::test {
namespace {

/// A rate at which an update changes the weights by a hundredth: large enough to show, small enough that the
/// next gradient does not blow up rounding.
float rate_for(plan::Optimizer optimizer, const Weights& weights, const Weights& gradients) {
  if (optimizer == plan::Optimizer::adam) return 1e-3f;
  return static_cast<float>(0.01 * length(weights) / length(gradients));
}

/// How far gradients move at most when every weight does by its last bit, up or down.
double sensitivity(kernels::Backend& host, const CutModel& cut, const TrainingSetup& setup,
                   const Weights& weights, const Weights& expected, std::int64_t at_once) {
  double out = 0;
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    core::Random random(seed);
    Weights nudged = weights;
    for (auto& [op, tensors] : nudged)
      for (Values& tensor : tensors)
        for (double& value : tensor) value *= 1 + (random.chance(0.5) ? 1 : -1) * std::exp2(-23);
    const SampleRange all{0, cut.plan.training.mini_batch};
    out = std::max(out, distance(gradients(host, cut.graph, setup, nudged, all, at_once), expected));
  }
  return out;
}

}  // namespace

void check_training(const CutModel& cut, const TrainingAccuracy& accuracy) {
  REQUIRE(plan::structural_violations(cut.graph, cut.cluster, cut.plan) == std::vector<std::string>{});
  const auto host = kernels::open_device("host", 1);
  const auto optimizer = cut.plan.training.optimizer;
  TrainingSetup setup;
  setup.seed = 5;
  setup.rule.epsilon = accuracy.epsilon;
  setup.rule.kind = static_cast<kernels::UpdateRule::RuleKind>(optimizer);
  Weights weights = first_weights(cut.graph, setup);
  const auto expected = [&] {
    return gradients(*host, cut.graph, setup, weights, {0, cut.plan.training.mini_batch}, accuracy.at_once);
  };
  Weights gradients = expected();
  setup.rule.rate = rate_for(optimizer, weights, gradients);
  const DevicePrograms program = lower(cut.graph, {cut.graph, cut.plan});
  RoundRobin replayed(*host, cut.problem(), cut.plan, program, setup);
  CHECK(distance(replayed.weights(), weights) < 1e-7);
  ReferenceOptimizer update(setup.rule);
  for (int iteration = 1; iteration <= accuracy.iterations; ++iteration) {
    CAPTURE(iteration);
    replayed.run();
    double most = accuracy.most;
    if (accuracy.last_bits > 0)
      most = std::max(
          most, accuracy.last_bits * sensitivity(*host, cut, setup, weights, gradients, accuracy.at_once));
    CHECK(distance(replayed.gradients(), gradients) < most);
    update.step(weights, gradients);
    CHECK(distance(replayed.weights(), weights) < most);
    weights = replayed.weights();
    if (iteration < accuracy.iterations) gradients = expected();
  }
}

}  // namespace penstock::replay::test
