#include "penstock/sim/repeat.hpp"

#include <doctest/doctest.h>
#include <tbb/global_control.h>

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
  CHECK(hundred.p99 == 99);
  CHECK(hundred.max == 100);
  CHECK(hundred.mean == 50.5);
  // One more value: half of 101 is 50.5, so the 51st; 90 % are 90.9, the 91st; 99 % are 99.99, the 100th.
  values.push_back(101);
  const auto more = sim::spread(values);
  CHECK(more.median == 51);
  CHECK(more.p90 == 91);
  CHECK(more.p99 == 100);
  const auto one = sim::spread({7});
  CHECK(one.min == 7);
  CHECK(one.median == 7);
  CHECK(one.p99 == 7);
  CHECK(one.mean == 7);
  CHECK_THROWS_AS(sim::spread({}), core::Error);
}

TEST_CASE("repeated runs are those of the seeds that follow, whatever the threads") {
  const auto g = support::tiny_graph(2, {{0, 1}});
  const auto cluster = support::tiny_cluster(2);
  const auto costs = support::FixedCosts::uniform(2, 1, 2);
  plan::Plan plan;
  plan.training.mini_batch = 8;
  for (std::size_t s = 0; s < 2; ++s)
    plan.stages.push_back({{core::OpId(s)}, {core::DeviceId(s)}, 1, 1, 0, {}});
  schedule::derive_in_flight(plan, plan::StageGraph(g, plan));
  const cost::Problem problem{g, cluster, costs, plan.training};
  const auto order = schedule::plan_order(plan);
  const auto perturbation = sim::parse_perturbation(
      "jitter: {forward: {lognormal: 10%}, transfer: {normal: 10%}}", "i.yaml", cluster);
  const sim::SimulationOptions options{sim::NetworkModel::fair, {}, &perturbation, 5};
  std::vector<core::Picoseconds> one_by_one;
  for (std::uint64_t seed = 5; seed < 25; ++seed)
    one_by_one.push_back(sim::simulate_time(problem, {problem.graph, plan, order},
                                            {sim::NetworkModel::fair, {}, &perturbation, seed}));
  for (const std::size_t threads : {1, 2, 5}) {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
    CHECK(sim::repeat(problem, {problem.graph, plan, order}, options, 20) == one_by_one);
  }
  CHECK(one_by_one[0] != one_by_one[1]);
  const std::atomic<bool> stopped = true;
  CHECK_THROWS_AS(sim::repeat(problem, {problem.graph, plan, order}, options, 20, core::StopToken(&stopped)),
                  core::Interrupted);
}
