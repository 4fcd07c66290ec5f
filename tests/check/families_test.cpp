// The judge on traces of every kind: random chains x schedules x networks x collectives x buckets.

#include <doctest/doctest.h>

#include "penstock/check/trace_faults.hpp"
#include "penstock/score/order.hpp"
#include "penstock/sim/explain.hpp"
#include "penstock/sim/simulate.hpp"
#include "support/random_plan.hpp"

using namespace penstock;

namespace {

/// How many of the seeds gave a trace; every one must be without fault, and its path must tile it.
int judged(std::uint64_t first, std::uint64_t last, int most_group = 1) {
  int traces = 0;
  for (std::uint64_t seed = first; seed < last; ++seed) {
    const auto c = support::random_plan(seed, most_group);
    const auto& options = c.options;
    INFO(c.plan.schedule, " ", seed);
    const auto order = score::order_of(c.problem(), c.plan);
    INFO(name(options.network), " ", name(options.collective), " ", c.plan.training.bucket.value());
    const auto trace = sim::simulate(c.problem(), {c.problem().graph, c.plan, order}, options);
    for (const auto& fault :
         check::trace_faults(c.problem(), {c.problem().graph, c.plan, order}, trace, options))
      FAIL_CHECK(fault);
    const auto explained = sim::explain(c.problem(), {c.problem().graph, c.plan, order}, options, 0);
    core::Picoseconds reached;
    for (const auto& entry : explained.path) {
      if (entry.start != reached) FAIL_CHECK("a gap at ", reached.value());
      reached = entry.end;
    }
    CHECK(reached == explained.run);
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

TEST_CASE("no fault on thousands of random sharded chains" * doctest::test_suite("slow")) {
  CHECK(judged(1000, 4000, 4) == 3000);
}

TEST_CASE("no fault on thousands of random chains" * doctest::test_suite("slow")) {
  CHECK(judged(1000, 7000) == 6000);
}
