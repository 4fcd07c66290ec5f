#include "planners/piper/piper_search.hpp"

#include <doctest/doctest.h>
#include <tbb/global_control.h>

#include "penstock/core/error.hpp"
#include "support/near.hpp"
#include "support/piper_cases.hpp"

using namespace penstock;
using namespace penstock::planners;
using penstock::support::near;

namespace {

graph::PiperLayer layer(const std::string& name, double time, double weights, double kept, double fixed,
                        double again = -1) {
  graph::PiperDegree degree{1, weights, {{"plain", time, kept, fixed}}};
  if (again >= 0) degree.configurations.push_back({"recomputed", again, 0, fixed});
  return {name, {degree}};
}

graph::PiperEdge edge(int from, int to, double bytes) {
  return {from, to, bytes, {0}, {0}};
}

/// a - b: 6 s and 2 s, 8 and 0 bytes of weights, an edge of 1 byte at 2 bytes per second.
graph::PiperWorkload pair(int devices, double memory, int micro_batches) {
  return {
      {layer("a", 6, 8, 4, 1), layer("b", 2, 0, 4, 1)}, {edge(0, 1, 1)}, {devices, memory, 2, micro_batches}};
}

double time_of(const graph::PiperWorkload& workload, const PiperOptions& options = {}) {
  const auto plan = piper_search(workload, options, {});
  REQUIRE(plan);
  return plan->time_per_micro_batch;
}

}  // namespace

TEST_CASE("piper: two layers on one to three devices, summed by hand") {
  // One device: 6 + 2. Two, a | b: 6 + 2 * 1 / 2 = 7; as one stage twice: (8 + 4 * 1 * 8 / (2 * 4)) / 2 = 6.
  CHECK(time_of(pair(1, 100, 4)) == near(8));
  CHECK(time_of(pair(2, 100, 4)) == near(6));
  // Two replicas of a: (6 + 1 + 4) / 2 = 5.5 and b 3; three replicas do not divide four micro-batches.
  CHECK(time_of(pair(3, 100, 4)) == near(5.5));
  // With N = 6 three replicas of both may: (8 + 4 * 2 * 8 / (6 * 2)) / 3 = 40 / 9; two of a: (7 + 4 * 8 / 12)
  // / 2 = 29 / 6.
  CHECK(time_of(pair(3, 100, 6)) == near(40.0 / 9));
}

TEST_CASE("piper: in-flight micro-batches fill memory, both sides of the boundary") {
  // a | b: a holds two micro-batches, 4 * 2 + 1 = 9 bytes. Both layers in one stage: 8 + 2 = 10.
  CHECK(time_of(pair(2, 9, 4)) == near(7));
  CHECK_FALSE(piper_search(pair(2, 8.999, 4), {}, {}));
  // One replica of both needs 10, and so do two of them: each holds one micro-batch.
  CHECK(time_of(pair(2, 10, 4)) == near(6));
  CHECK_FALSE(piper_search(pair(1, 9.999, 4), {}, {}));
}

TEST_CASE("piper: the greedy knapsack takes the best ratio first and overshoots") {
  // One device, memory one byte short of 5 + 4. Per byte: x 2 s for 5 bytes, y 1 s for 1 byte. Greedy swaps
  // x: 2 s more; exact swaps y: 1 s more.
  graph::PiperWorkload workload{
      {layer("x", 10, 0, 5, 0, 12), layer("y", 10, 0, 1, 3, 11)}, {edge(0, 1, 1)}, {1, 8, 1, 1}};
  PiperOptions options;
  CHECK(time_of(workload, options) == near(21));
  options.rules.knapsack = KnapsackRule::greedy;
  CHECK(time_of(workload, options) == near(22));
  options.rules.recompute = RecomputeMode::always;
  CHECK(time_of(workload, options) == near(23));
  options.rules.recompute = RecomputeMode::never;
  CHECK_FALSE(piper_search(workload, options, {}));
}

TEST_CASE("piper: filling and draining makes fewer stages pay") {
  // Four layers of 3 s in a chain on four devices, no replicas. An edge costs 2 * 1 / 4 = 0.5 s at both its
  // ends.
  graph::PiperWorkload workload;
  for (int v = 0; v < 4; ++v) workload.layers.push_back(layer("l" + std::to_string(v), 3, 0, 0, 0));
  for (int v = 1; v < 4; ++v) workload.edges.push_back(edge(v - 1, v, 1));
  workload.setting = {4, 1, 4, 4};
  PiperOptions options;
  options.flush = true;
  options.rules.data_parallel = false;
  // N = 4: four stages take 4 * (4 + 3) = 28 (inner ones 3 + 2 * 0.5), two 6.5 * 5 = 32.5.
  CHECK(piper_search(workload, options, {})->iteration == near(28));
  // N = 2: at most two stages, which take 6.5 * 3 = 19.5; one takes 12 * 2 = 24.
  workload.setting.micro_batches = 2;
  CHECK(piper_search(workload, options, {})->iteration == near(19.5));
  CHECK(piper_search(workload, options, {})->stages.size() == 2);
}

namespace {

struct PiperTally {
  int feasible = 0, partly = 0;  ///< plans, and layers that are recomputed in them
};

PiperTally compare_with_exhaustive(std::uint64_t seeds) {
  PiperTally seen;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    CAPTURE(seed);
    const auto workload = support::random_piper_workload(seed);
    PiperOptions options;
    options.flush = seed % 3 == 1;
    options.all_devices = seed % 4 == 1;
    const auto expected = support::slow_piper(workload, options.flush, options.all_devices);
    const auto found = piper_search(workload, options, {});
    REQUIRE(found.has_value() == expected.has_value());
    if (!found) continue;
    ++seen.feasible;
    CHECK(found->iteration == near(*expected, 1e-12));
    const auto verdict = support::judge(workload, found->stages);
    CHECK(verdict.fault == "");
    CHECK(verdict.time_per_micro_batch == near(found->time_per_micro_batch, 1e-12));
    for (const auto& stage : found->stages)
      for (int c : stage.configurations) seen.partly += c;
  }
  return seen;
}

}  // namespace

TEST_CASE("piper: equals exhaustive search on random small workloads") {
  const PiperTally seen = compare_with_exhaustive(1000);
  CHECK(seen.feasible > 300);
  CHECK(seen.feasible < 970);
  CHECK(seen.partly > 100);
}

TEST_CASE("piper: equals exhaustive search on many small workloads" * doctest::test_suite("slow")) {
  const PiperTally seen = compare_with_exhaustive(6000);
  CHECK(seen.feasible > 2000);
  CHECK(seen.feasible < 5800);
  CHECK(seen.partly > 600);
}

TEST_CASE("piper: the greedy knapsack is never better than the exact one") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const auto workload = support::random_piper_workload(seed);
    PiperOptions greedy;
    greedy.rules.knapsack = KnapsackRule::greedy;
    const auto fast = piper_search(workload, greedy, {}), exact = piper_search(workload, {}, {});
    REQUIRE(fast.has_value() == exact.has_value());
    if (fast) CHECK(exact->time_per_micro_batch <= fast->time_per_micro_batch * (1 + 1e-12));
  }
}

TEST_CASE("piper: the same plan on one thread and on three") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const auto workload = support::random_piper_workload(seed);
    std::optional<PiperPlan> plans[2];
    for (int k : {0, 1}) {
      tbb::global_control limit(tbb::global_control::max_allowed_parallelism, k == 0 ? 1 : 3);
      plans[k] = piper_search(workload, {}, {});
    }
    REQUIRE(plans[0].has_value() == plans[1].has_value());
    if (!plans[0]) continue;
    CHECK(plans[0]->states == plans[1]->states);
    REQUIRE(plans[0]->stages.size() == plans[1]->stages.size());
    for (std::size_t s = 0; s < plans[0]->stages.size(); ++s) {
      CHECK(plans[0]->stages[s].layers == plans[1]->stages[s].layers);
      CHECK(plans[0]->stages[s].configurations == plans[1]->stages[s].configurations);
      CHECK(plans[0]->stages[s].data_degree == plans[1]->stages[s].data_degree);
    }
  }
}

TEST_CASE("piper: too many downsets is a limit, and a stop is heard") {
  graph::PiperWorkload workload;  // six layers side by side: 64 downsets
  for (int v = 0; v < 6; ++v) workload.layers.push_back(layer("l" + std::to_string(v), 1, 0, 0, 0));
  workload.setting = {2, 1, 1, 1};
  const auto dag = graph::dag_of(workload);
  CHECK(PiperLattice(dag, 64, {}).size() == 64);
  CHECK_THROWS_WITH_AS(PiperLattice(dag, 63, {}), "piper: the model has more than 63 downsets", core::Error);
  const std::atomic<bool> stopped{true};
  CHECK_THROWS_AS(piper_search(workload, {}, core::StopToken(&stopped)), core::InterruptedError);
}
