// Plans with context parallelism: by hand, and at random against the verifier and the bounds.

#include <doctest/doctest.h>

#include <algorithm>

#include "models/catalogue.hpp"
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
#include "support/tiny.hpp"

using namespace penstock;
using core::OpId;
using core::Random;
using support::FlopCosts;
using support::judge_somewhere;
using support::stage_of;

namespace {

graph::OpGraph small_gpt(const std::string& layers, const std::string& attention = "flash") {
  return models::build("gpt", {{"layers", layers},
                               {"hidden", "32"},
                               {"heads", "8"},
                               {"sequence", "16"},
                               {"vocabulary", "64"},
                               {"tied_head", "no"},
                               {"attention", attention}});
}

/// One to three stages of a small decoder, each divided in ways of its own.
plan::Plan random_plan(const graph::OpGraph& graph, Random& random, std::size_t& devices) {
  plan::Plan out;
  const int stages = random.between(1, 3), replicas = random.between(1, 2);
  out.training.mini_batch = 8 * random.between(1, 2);
  if (random.chance(0.5)) out.training.bucket = core::Bytes(random.between(1, 20'000));
  std::size_t first = 0;
  devices = 0;
  for (int s = 0; s < stages; ++s) {
    const std::size_t last =
        s + 1 == stages ? graph.size() : graph.size() * static_cast<std::size_t>(s + 1) / stages;
    plan::Stage each = stage_of(first, last, 0, 2 * random.between(1, 2));
    each.context_parallel = 1 << random.between(0, 2);
    each.tensor_parallel = random.between(1, 2);
    each.context_exchange = static_cast<plan::ContextExchange>(random.between(0, 2));
    for (std::int64_t d = 0; d < each.replica_size() * replicas; ++d) each.devices.emplace_back(devices++);
    each.zero = random.chance(0.5) ? random.between(1, 3) : 0;
    if (each.zero > 0 && each.weight_replicas() % 2 == 0 && random.chance(0.5)) each.zero_over = 2;
    each.sequence_parallel = each.tensor_parallel > 1 && random.chance(0.5);
    if (random.chance(0.3)) each.recompute = plan::kRecomputeStage;
    out.stages.push_back(each);
    first = last;
  }
  return out;
}

}  // namespace

TEST_CASE("two devices with half of the tokens each: half the work, and keys and values of the other half") {
  const auto g = small_gpt("1");
  const auto cluster = support::tiny_cluster(2);
  const FlopCosts costs;
  plan::Plan plan;
  plan.training.mini_batch = 6;
  plan.stages = {stage_of(0, g.size(), 2, 3)};
  plan.stages[0].context_parallel = 2;
  plan.stages[0].context_exchange = plan::ContextExchange::all_gather;
  const cost::Problem problem{g, cluster, costs, plan.training};
  score::derive_in_flight(problem, plan);
  REQUIRE(score::violations(problem, plan).empty());
  const auto trace = sim::simulate(problem, score::scheduled(problem, plan));

  double flops = 0;
  for (const auto& op : g.operators())
    flops += op.forward_flops.value() + op.input_gradient_flops.value() + op.weight_gradient_flops.value();
  // Three samples' keys and values are 3 x 2 x 16 x 32 numbers of 4 bytes. Half of that comes over a cable of
  // 1 GB/s, forward, again before the gradients, and as gradients back. Twice, for two micro-batches.
  const double once = 3 * 2 * 16 * 32 * 4 / 2 / 1e9;
  // All weights' gradients are summed over both: two steps of half of them.
  const double reduced = static_cast<double>(g.parameters()) * 4 / 1e9;
  const double step =
      costs.step_time(core::Bytes(g.parameters() * 4), plan.training, cluster.type(core::DeviceId(0)))
          .value();
  CHECK(to_seconds(trace.iteration).value() ==
        support::near(6 * flops / 1e9 / 2 + 2 * 3 * once + reduced + step, 1e-9));
  CHECK(trace.spans.front().collective == to_picoseconds(core::Seconds(once)));
  CHECK(check::trace_violations(problem, score::scheduled(problem, plan), trace).empty());
}

TEST_CASE("random plans with context groups: no violation, and nothing below a bound") {
  const auto fused = small_gpt("3", "fused"), flash = small_gpt("2");
  int divided = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const auto& g = seed % 2 ? fused : flash;
    std::size_t devices = 0;
    plan::Plan plan = random_plan(g, random, devices);
    judge_somewhere(g, plan, devices, random);
    divided += std::ranges::any_of(plan.stages, [](const auto& s) { return s.context_parallel > 1; });
  }
  CHECK(divided > 60);
}

TEST_CASE("the verifier misses tokens that no device saved") {
  const auto g = small_gpt("1");
  const auto cluster = support::tiny_cluster(2, std::int64_t{1} << 40, 1e3);  // slow cables
  const FlopCosts costs;
  plan::Plan plan;
  plan.training.mini_batch = 2;
  plan.stages = {stage_of(0, g.size(), 2, 2)};
  plan.stages[0].context_parallel = 2;
  plan.stages[0].context_exchange = plan::ContextExchange::ulysses;
  const cost::Problem problem{g, cluster, costs, plan.training};
  score::derive_in_flight(problem, plan);
  auto trace = sim::simulate(problem, score::scheduled(problem, plan));
  CHECK(check::trace_violations(problem, score::scheduled(problem, plan), trace).empty());
  for (auto& point : trace.devices[1].memory) point.activations = core::Bytes(0);
  const auto found = check::trace_violations(problem, score::scheduled(problem, plan), trace);
  const auto told = [&](const char* words) {
    return std::ranges::any_of(found, [&](const auto& v) { return v.find(words) != std::string::npos; });
  };
  CHECK(told("saves less than its tokens' part of stage 0"));
}
