// The judge on traces of every kind: random chains x schedules x networks x collectives x buckets.

#include <doctest/doctest.h>

#include "penstock/check/trace_violations.hpp"
#include "penstock/score/least_iteration.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/plan_pipeline.hpp"
#include "penstock/sim/explain.hpp"
#include "penstock/sim/simulate.hpp"
#include "support/crowded_costs.hpp"
#include "support/random_plan.hpp"

using namespace penstock;

namespace {

/// It has no gap.
void check_path(const sim::TimeExplanation& explained) {
  core::Picoseconds reached;
  for (const auto& entry : explained.path) {
    if (entry.start != reached) FAIL_CHECK("a gap at ", reached.value());
    reached = entry.end;
  }
  CHECK(reached == explained.run);
}

/// Devices of one node that do all they can to each other, by the seed.
support::CrowdedCosts crowded(const support::RandomPlan& c, std::uint64_t seed) {
  core::Random random(seed);
  cost::CrowdingSlowdown::Table table;
  for (auto& row : table)
    for (auto& factors : row)
      for (int n = random.between(0, 3); n > 0; --n) factors.push_back(1 + 2 * random.unit());
  std::vector<double> share(c.graph.size());
  for (double& part : share) part = random.unit();
  return {c.costs, table, share};
}

/// Judges the plans of the seeds with crowded devices: no violation, and no time below the bound, which
/// ignores crowding. Returns the number of iterations that crowding made longer.
int judged_crowded(std::uint64_t first, std::uint64_t last, int most_group) {
  int longer = 0;
  for (std::uint64_t seed = first; seed < last; ++seed) {
    const auto c = support::random_plan(seed, most_group);
    const auto costs = crowded(c, seed);
    const cost::Problem problem{c.graph, c.cluster, costs, c.plan.training};
    INFO(c.plan.schedule, " ", seed);
    const auto scheduled = score::scheduled(problem, c.plan);
    const auto trace = sim::simulate(problem, scheduled, c.options);
    for (const auto& violation : check::trace_violations(problem, scheduled, trace, c.options))
      FAIL_CHECK(violation);
    if (trace.mini_batches == 1)
      CHECK(score::least_iteration(problem, c.plan) <= to_seconds(trace.iteration));
    check_path(sim::explain(problem, scheduled, c.options, 0));
    sim::SimulationOptions apart = c.options;
    apart.crowding = false;
    longer += trace.iteration > sim::simulate_time(problem, scheduled, apart);
  }
  return longer;
}

/// How many of the seeds gave a trace; every one must be without violation, and its path must tile it.
int judged(std::uint64_t first, std::uint64_t last, int most_group = 1) {
  int traces = 0;
  for (std::uint64_t seed = first; seed < last; ++seed) {
    const auto c = support::random_plan(seed, most_group);
    const auto& options = c.options;
    INFO(c.plan.schedule, " ", seed);
    const auto order = score::order_of(c.problem(), c.plan);
    INFO(name(options.network), " ", name(options.collective), " ", c.plan.training.bucket.value());
    const auto trace = sim::simulate(c.problem(), {c.problem().graph, c.plan, order}, options);
    for (const auto& violation :
         check::trace_violations(c.problem(), {c.problem().graph, c.plan, order}, trace, options))
      FAIL_CHECK(violation);
    check_path(sim::explain(c.problem(), {c.problem().graph, c.plan, order}, options, 0));
    ++traces;
  }
  return traces;
}

}  // namespace

TEST_CASE("no fault on random chains, schedules, networks, collectives and buckets") {
  CHECK(judged(0, 180) == 180);
}

TEST_CASE("no fault on random chains with tensor parallelism, ZeRO, compression and mixed precision") {
  CHECK(judged(0, 84, 3) == 84);
}

TEST_CASE("no fault, and no time below the bounds, by frameworks' rules of reductions") {
  int longer = 0, shorter = 0;
  for (std::uint64_t seed = 0; seed < 504; ++seed) {
    auto c = support::random_plan(seed, seed % 2 == 0 ? 1 : 3);
    if (plan::asynchronous(c.plan)) continue;
    // Gradients of twice as many bytes as weights.
    c.plan.training.precision = plan::MixedPrecision{cluster::Precision::bf16, cluster::Precision::fp32,
                                                     cluster::Precision::fp32, cluster::Precision::fp32};
    const auto without = sim::simulate_time(c.problem(), score::scheduled(c.problem(), c.plan), {});
    for (const cluster::FrameworkMemory& rules : {cluster::FrameworkMemory{.buckets_first_chunk = true},
                                                  cluster::FrameworkMemory{.sends_as_weights = true}}) {
      c.cluster = c.cluster.run_by({.memory = rules});
      const cost::Problem problem = c.problem();
      const auto scheduled = score::scheduled(problem, c.plan);
      INFO(c.plan.schedule, " ", seed);
      const auto trace = sim::simulate(problem, scheduled, c.options);
      for (const auto& violation : check::trace_violations(problem, scheduled, trace, c.options))
        FAIL_CHECK(violation);
      const auto with = sim::simulate_time(problem, scheduled, {});
      CHECK(score::least_iteration(problem, c.plan, score::ReductionTiming::closed_form) <= to_seconds(with));
      if (const auto bound = score::lower_bound(problem, c.plan)) CHECK(bound->time <= with);
      longer += rules.buckets_first_chunk && with > without;
      shorter += rules.sends_as_weights && with < without;
    }
  }
  CHECK(longer > 10);
  CHECK(shorter > 10);
}

TEST_CASE("no fault where devices of a node slow each other down") {
  CHECK(judged_crowded(0, 36, 1) > 20);
  CHECK(judged_crowded(0, 18, 3) > 10);
}

TEST_CASE("no fault on thousands of crowded chains" * doctest::test_suite("slow")) {
  CHECK(judged_crowded(1000, 2500, 1) > 1000);
  CHECK(judged_crowded(1000, 1800, 4) > 520);
}

TEST_CASE("no fault on thousands of random sharded chains" * doctest::test_suite("slow")) {
  CHECK(judged(1000, 4000, 4) == 3000);
}

TEST_CASE("no fault on thousands of random chains" * doctest::test_suite("slow")) {
  CHECK(judged(1000, 7000) == 6000);
}
