// Plans with expert parallelism: by hand, and at random against the verifier and the bounds.

#include <doctest/doctest.h>

#include <algorithm>

#include "penstock/check/trace_violations.hpp"
#include "penstock/core/random.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/score/least_iteration.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/problem_bound.hpp"
#include "penstock/score/validate.hpp"
#include "penstock/sim/simulate.hpp"
#include "support/judged_plan.hpp"
#include "support/near.hpp"
#include "support/small_mixture.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using core::OpId;
using core::Random;
using support::FlopCosts;
using support::judge_somewhere;
using support::small_mixture;
using support::stage_of;

namespace {

/// One to three stages, each divided in ways of its own.
plan::Plan random_expert_plan(const graph::OpGraph& graph, Random& random, std::size_t& devices) {
  plan::Plan out;
  const int stages = random.between(1, 3), replicas = 1 << random.between(0, 2);
  out.training.mini_batch = 8 * random.between(1, 2);
  if (random.chance(0.5)) out.training.bucket = core::Bytes(random.between(1, 20'000));
  std::size_t first = 0;
  devices = 0;
  for (int s = 0; s < stages; ++s) {
    const std::size_t last =
        s + 1 == stages ? graph.size() : graph.size() * static_cast<std::size_t>(s + 1) / stages;
    plan::Stage each = stage_of(first, last, 0, 4 * random.between(1, 2));
    each.context_parallel = random.between(1, 2);
    each.tensor_parallel = random.between(1, 2);
    for (std::int64_t d = 0; d < each.replica_size() * replicas; ++d) each.devices.emplace_back(devices++);
    each.expert_parallel = 1 << random.between(0, 3);
    while (each.weight_replicas() % each.expert_parallel != 0) each.expert_parallel /= 2;
    if (each.expert_parallel > 1 && random.chance(0.5)) each.imbalance = 1 + random.unit();
    each.zero = random.chance(0.5) ? random.between(1, 3) : 0;
    each.sequence_parallel = each.tensor_parallel > 1 && random.chance(0.5);
    if (each.sequence_parallel && random.chance(0.5)) {
      each.whole_experts = true;
      if (each.expert_places() % (2 * each.expert_parallel) == 0 && each.expert_parallel < 8)
        each.expert_parallel *= 2;
    }
    if (random.chance(0.3)) each.recompute = plan::kRecomputeStage;
    out.stages.push_back(each);
    first = last;
  }
  return out;
}

}  // namespace

TEST_CASE("two replicas with half of the experts each: as much work, rows sent and half of the weights") {
  const auto g = small_mixture("1");
  const auto cluster = support::tiny_cluster(2);
  const FlopCosts costs;
  plan::Plan plan;
  plan.training.mini_batch = 12;
  plan.stages = {stage_of(0, g.size(), 2, 6)};
  plan.stages[0].expert_parallel = 2;
  const cost::Problem problem{g, cluster, costs, plan.training};
  score::derive_in_flight(problem, plan);
  REQUIRE(score::violations(problem, plan).empty());
  const auto trace = sim::simulate(problem, score::scheduled(problem, plan));

  double flops = 0;
  for (const auto& op : g.operators())
    flops += op.forward_flops.value() + op.input_gradient_flops.value() + op.weight_gradient_flops.value();
  // Three samples of 16 tokens have 96 copies of 32 numbers. Half of these go over a cable of 1 GB/s, to
  // their experts and back, forward and backward. Two micro-batches.
  const double once = 96.0 * 32 * 4 / 2 / 1e9;
  // Experts are 8 x 3 x 32 x 24 numbers; a device's half is on no other device. The others' gradients are
  // summed over both: two steps of half of them.
  const std::int64_t experts = 8 * 3 * 32 * 24, others = g.parameters() - experts;
  const double step =
      costs.step_time(core::Bytes((others + experts / 2) * 4), plan.training, cluster.type(core::DeviceId(0)))
          .value();
  CHECK(to_seconds(trace.iteration).value() ==
        support::near(6 * flops / 1e9 + 2 * 4 * once + static_cast<double>(others) * 4 / 1e9 + step, 1e-9));
  CHECK(at(trace.devices[0].fixed, plan::MemoryKind::weights).value() == (others + experts / 2) * 4);
  CHECK(check::trace_violations(problem, score::scheduled(problem, plan), trace).empty());
}

TEST_CASE("the fullest device has more rows: work, what it saves and what it is sent grow, weights do not") {
  const auto g = small_mixture("1");
  const auto cluster = support::tiny_cluster(4);
  const FlopCosts costs;
  plan::Plan plan;
  plan.training.mini_batch = 8;
  plan.stages = {stage_of(0, g.size(), 4, 8)};
  plan.stages[0].expert_parallel = 4;
  const cost::Problem problem{g, cluster, costs, plan.training};
  score::derive_in_flight(problem, plan);
  const auto even = score::stage_memories(problem, plan).front();
  const auto time = [&] {
    return to_seconds(sim::simulate(problem, score::scheduled(problem, plan)).iteration);
  };
  const core::Seconds evenly = time();
  plan.stages[0].imbalance = 1.5;
  const auto uneven = score::stage_memories(problem, plan).front();
  // Two samples of 32 copies each: of a copy 32 and 3 x 24 numbers and 12 bytes, half as many again.
  CHECK((at(uneven, plan::MemoryKind::activations) - at(even, plan::MemoryKind::activations)).value() ==
        2 * 32 * (4 * (32 + 3 * 24) + 12) / 2);
  CHECK(at(uneven, plan::MemoryKind::weights) == at(even, plan::MemoryKind::weights));
  // Two samples of 32 copies: 2 x 3 x 32 x 24 FLOPs each in three passes. There are 4 all-to-alls, of which
  // each device sends three quarters to the others, one after the other.
  const double more = 2 * 32 * 2.0 * 3 * 32 * 24 * 3 / 1e9 + 4 * 2 * 32 * 32 * 4 * 0.75 / 1e9;
  CHECK((time() - evenly).value() == support::near(more / 2, 1e-6));
}

TEST_CASE("ZeRO shares experts over those that hold the same, and the rest over all") {
  const auto g = small_mixture("1");
  const auto cluster = support::tiny_cluster(4);
  const FlopCosts costs;
  plan::Plan plan;
  plan.training.mini_batch = 8;
  plan.training.optimizer = plan::Optimizer::adam;
  plan.stages = {stage_of(0, g.size(), 4, 8)};
  plan.stages[0].expert_parallel = 2;
  plan.stages[0].zero = 1;
  const cost::Problem problem{g, cluster, costs, plan.training};
  score::derive_in_flight(problem, plan);
  // Two moments in four bytes: a quarter of the others', and half of the device's half of the experts'.
  const std::int64_t experts = 8 * 3 * 32 * 24, others = g.parameters() - experts;
  CHECK(at(score::stage_memories(problem, plan).front(), plan::MemoryKind::optimizer).value() ==
        8 * (others / 4 + experts / 4));
}

TEST_CASE("random plans with expert groups: no violation, and nothing below a bound") {
  const auto one = small_mixture("2"), other = small_mixture("3", "16");
  int divided = 0, whole = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const auto& g = seed % 2 ? one : other;
    std::size_t devices = 0;
    plan::Plan plan = random_expert_plan(g, random, devices);
    judge_somewhere(g, plan, devices, random);
    divided += std::ranges::any_of(plan.stages, [](const auto& s) { return s.expert_parallel > 1; });
    whole += std::ranges::any_of(plan.stages, &plan::Stage::whole_experts);
  }
  CHECK(whole > 20);
  CHECK(divided > 60);
}

TEST_CASE("the verifier misses experts that no device holds") {
  const auto g = small_mixture("1");
  const auto cluster = support::tiny_cluster(2, std::int64_t{1} << 40, 1e3);  // slow cables
  const FlopCosts costs;
  plan::Plan plan;
  plan.training.mini_batch = 2;
  plan.stages = {stage_of(0, g.size(), 2, 2)};
  plan.stages[0].expert_parallel = 2;
  const cost::Problem problem{g, cluster, costs, plan.training};
  score::derive_in_flight(problem, plan);
  auto trace = sim::simulate(problem, score::scheduled(problem, plan));
  CHECK(check::trace_violations(problem, score::scheduled(problem, plan), trace).empty());
  at(trace.devices[1].fixed, plan::MemoryKind::weights) = core::Bytes(0);
  const auto found = check::trace_violations(problem, score::scheduled(problem, plan), trace);
  CHECK(std::ranges::count(found, "device 1 holds less than its experts of stage 0") == 1);
}

TEST_CASE("expert groups that do not fit are refused by name") {
  const auto g = small_mixture("1");
  const FlopCosts costs;
  const auto refusal = [&](std::size_t devices, int size, double imbalance) {
    const auto cluster = support::tiny_cluster(devices);
    plan::Plan plan;
    plan.training.mini_batch = 12;
    plan.stages = {stage_of(0, g.size(), devices, 12)};
    plan.stages[0].expert_parallel = size;
    plan.stages[0].imbalance = imbalance;
    const cost::Problem problem{g, cluster, costs, plan.training};
    score::derive_in_flight(problem, plan);
    const auto found = score::violations(problem, plan);
    return found.empty() ? std::string() : found.front();
  };
  CHECK(refusal(4, 2, 2).empty());
  CHECK(refusal(6, 3, 1) ==
        "stage 0: `expert_parallel`: 'layer0.experts' has 8 experts, which 3 devices do not divide");
  CHECK(refusal(6, 4, 1) ==
        "stage 0: 6 replicas and context groups, but expert_parallel (4) must divide them");
  CHECK(refusal(4, 2, 2.5) == "stage 0: the fullest of 2 devices has 1 to 2 times the mean, not 2.5");
}
