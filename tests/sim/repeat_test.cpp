#include "penstock/sim/repeat.hpp"

#include <doctest/doctest.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <atomic>

#include "penstock/schedule/in_flight.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "penstock/sim/perturbation.hpp"
#include "support/fixed_costs.hpp"
#include "support/tiny.hpp"

using namespace penstock;

TEST_CASE("quantiles are values, by nearest rank") {
  std::vector<double> values;
  for (int i = 100; i >= 1; --i) values.push_back(i);
  const auto hundred = sim::spread(values);
  CHECK(hundred.min == 1);
  CHECK(hundred.median == 50);
  CHECK(hundred.p90 == 90);
  CHECK(hundred.p95 == 95);
  CHECK(hundred.p99 == 99);
  CHECK(hundred.max == 100);
  CHECK(hundred.mean == 50.5);
  // One more value: half of 101 is 50.5, so the 51st; 90 % are 90.9, the 91st; 99 % are 99.99, the 100th.
  values.push_back(101);
  const auto more = sim::spread(values);
  CHECK(more.median == 51);
  CHECK(more.p90 == 91);
  CHECK(more.p95 == 96);
  CHECK(more.p99 == 100);
  const auto one = sim::spread({7});
  CHECK(one.min == 7);
  CHECK(one.median == 7);
  CHECK(one.p99 == 7);
  CHECK(one.mean == 7);
  CHECK_THROWS_AS(sim::spread({}), core::Error);
}

namespace {

/// a -> b on a device each, forward passes and messages jitter.
struct JitteryPair {
  JitteryPair() {
    plan.training.mini_batch = 8;
    for (std::size_t s = 0; s < 2; ++s)
      plan.stages.push_back({{core::OpId(s)}, {core::DeviceId(s)}, 1, 1, 0, {}});
    schedule::derive_in_flight(plan, plan::StageGraph(graph, plan));
  }
  cost::Problem problem() const { return {graph, cluster, costs, plan.training}; }
  schedule::ScheduledPlan scheduled() const { return {graph, plan, schedule::plan_order(plan)}; }
  sim::SimulationOptions options(std::uint64_t seed) const {
    return {sim::NetworkModel::fair, {}, &perturbation, seed};
  }

  graph::OpGraph graph = support::tiny_graph(2, {{0, 1}});
  cluster::Cluster cluster = support::tiny_cluster(2);
  support::FixedCosts costs = support::FixedCosts::uniform(2, 1, 2);
  sim::Perturbation perturbation = sim::parse_perturbation(
      "jitter: {forward: {lognormal: 10%}, transfer: {normal: 10%}}", "i.yaml", cluster);
  plan::Plan plan;
};

}  // namespace

TEST_CASE("repeated runs are those of the seeds that follow, whatever the threads") {
  const JitteryPair j;
  std::vector<core::Picoseconds> one_by_one;
  for (std::uint64_t seed = 5; seed < 25; ++seed)
    one_by_one.push_back(sim::simulate_time(j.problem(), j.scheduled(), j.options(seed)));
  for (const std::size_t threads : {1, 2, 5}) {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
    CHECK(sim::repeat(j.problem(), j.scheduled(), j.options(5), 20) == one_by_one);
  }
  CHECK(one_by_one[0] != one_by_one[1]);
  const std::atomic<bool> stopped = true;
  CHECK_THROWS_AS(sim::repeat(j.problem(), j.scheduled(), j.options(5), 20, core::StopToken(&stopped)),
                  core::InterruptedError);
}

TEST_CASE("a quantile to beat is the one of all runs where it is not above, else any above") {
  const JitteryPair j;
  for (const std::size_t runs : {1, 2, 19, 20, 21}) {
    auto times = sim::repeat(j.problem(), j.scheduled(), j.options(5), runs);
    std::ranges::sort(times);
    for (const std::size_t percent : {50, 95, 100}) {
      CAPTURE(runs);
      CAPTURE(percent);
      // Nearest rank: of 20 runs the 19th is p95, of 21 the 20th, of 19 the last.
      std::size_t rank = 1;
      while (rank * 100 < runs * percent) ++rank;
      const core::Picoseconds whole = times[rank - 1];
      for (const core::Picoseconds to_beat :
           {times.front(), times.back(), whole, core::Picoseconds(INT64_MAX), whole - core::Picoseconds(1),
            core::Picoseconds(0)}) {
        const auto got =
            sim::quantile_against(j.problem(), j.scheduled(), j.options(5), runs, percent, to_beat);
        if (whole <= to_beat)
          CHECK(got == whole);
        else
          CHECK(got > to_beat);
      }
    }
  }
}
