#include "planners/local/aceso.hpp"

#include <doctest/doctest.h>

#include <atomic>

#include "models/catalogue.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/planners/planner.hpp"
#include "penstock/score/estimate.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/validate.hpp"
#include "planners/local/alleviation.hpp"
#include "support/fixed_costs.hpp"
#include "support/near.hpp"
#include "support/random_problem.hpp"

using namespace penstock;
using core::DeviceId;
using core::OpId;

namespace {

double seconds(const cost::Problem& problem, const plan::Plan& plan) {
  return score::estimate(problem, plan).iteration.value();
}

/// a b c | d on two devices: 3 and 1 s forward per sample.
plan::Plan lopsided(const cost::Problem& problem) {
  plan::Plan plan;
  plan.training = problem.training;
  plan.stages = {{{OpId(0), OpId(1), OpId(2)}, {DeviceId(0)}, 1, 1, 0, {}},
                 {{OpId(3)}, {DeviceId(1)}, 1, 1, 0, {}}};
  score::derive_in_flight(problem, plan);
  return plan;
}

const auto kRow = support::tiny_graph(4, {{0, 1}, {1, 2}, {2, 3}});
const auto kSeconds = support::FixedCosts::uniform(4, 1, 2);

}  // namespace

TEST_CASE("the slow stage of 3 | 1 gives one operator away: 2 | 2") {
  const auto cluster = support::tiny_cluster(2);
  const cost::Problem problem{kRow, cluster, kSeconds, {8, plan::Optimizer::sgd}};
  planners::SearchOptions pinned;
  pinned.pipeline_micro_batch = 1;
  const auto found = planners::alleviate(problem, pinned, lopsided(problem), {});
  CHECK(found.plan.stages[0].operators.size() == 2);
  CHECK(found.plan.stages[1].operators.size() == 2);
  CHECK(found.bottleneck == support::near(6));
}

TEST_CASE(
    "primitives at stage 0 of 3 | 1: one or two operators to the right, twice the micro-batch, recompute") {
  const auto cluster = support::tiny_cluster(2);
  const cost::Problem problem{kRow, cluster, kSeconds, {8, plan::Optimizer::sgd}};
  const auto units = planners::planning_units(kRow);
  const auto start = lopsided(problem);
  const auto plans = planners::alleviations(problem, {}, units, start, 0);
  REQUIRE(plans.size() == 4);
  CHECK(plans[0].stages[1].operators == std::vector{OpId(2), OpId(3)});
  CHECK(plans[1].stages[1].operators == std::vector{OpId(1), OpId(2), OpId(3)});
  CHECK(plans[2].stages[0].micro_batch == 2);
  CHECK(plans[2].stages[1].micro_batch == 2);
  CHECK(plans[3].stages[0].recompute);
  CHECK_FALSE(plans[3].stages[1].recompute);
  // With a size pinned none is tried; a stage with one operator keeps it.
  planners::SearchOptions pinned;
  pinned.pipeline_micro_batch = 1;
  CHECK(planners::alleviations(problem, pinned, units, start, 1).size() == 1);
}

TEST_CASE(
    "a stage exchanges replica counts with a larger one, or takes one device where any degree will do") {
  const auto cluster = support::tiny_cluster(4);
  const cost::Problem problem{kRow, cluster, kSeconds, {8, plan::Optimizer::sgd}};
  auto start = lopsided(problem);
  start.stages[0].devices = {DeviceId(0)};
  start.stages[1].devices = {DeviceId(1), DeviceId(2), DeviceId(3)};
  start.stages[0].micro_batch = start.stages[1].micro_batch = 4;
  planners::SearchOptions options;
  options.pipeline_micro_batch = 4;
  const auto replicas = [&] {
    std::vector<std::size_t> out;
    for (const auto& plan :
         planners::alleviations(problem, options, planners::planning_units(kRow), start, 0))
      if (plan.stages[0].operators.size() == 3 && !plan.stages[0].recompute)
        out.push_back(plan.stages[0].devices.size());
    return out;
  };
  CHECK(replicas() == std::vector<std::size_t>{3});
  options.any_degree = true;
  CHECK(replicas() == std::vector<std::size_t>{2, 3});
}

TEST_CASE("a plan that does not fit is made to fit, by less in flight or by recomputing") {
  // Stage 0 of a b | c d holds 2 micro-batches of one sample: 2 * 2 kB kept, 2 kB worked on, 2 kB of
  // gradients to come: 8,000. Recomputing keeps 2 kB of one sample: 6,000. Stage 1: 3 kB, 2 kB and 1 kB to
  // come, 6,000 bytes, recomputing or not.
  const auto tight = support::tiny_cluster(2, 6000), tighter = support::tiny_cluster(2, 5999);
  planners::SearchOptions pinned;
  pinned.pipeline_micro_batch = 1;
  const cost::Problem problem{kRow, tight, kSeconds, {8, plan::Optimizer::sgd}};
  const auto start = lopsided(problem);
  CHECK_FALSE(score::violations(problem, start).empty());
  const auto found = planners::alleviate(problem, pinned, start, {});
  CHECK(score::violations(problem, found.plan).empty());
  CHECK(found.plan.stages[0].recompute);
  CHECK_THROWS_AS(planners::planner("spp").plan(problem, pinned, {}), core::Infeasible);
  CHECK(score::violations(problem, planners::planner("aceso").plan(problem, pinned, {}).plan).empty());
  const cost::Problem hopeless{kRow, tighter, kSeconds, {8, plan::Optimizer::sgd}};
  CHECK_THROWS_AS(planners::alleviate(hopeless, pinned, start, {}), core::Infeasible);
}

TEST_CASE("a free search climbs at each micro-batch size by itself, too") {
  const auto graph = models::build("case_study", {{"layers", "1"}});
  const auto cluster = support::tiny_cluster(4);
  const cost::AnalyticCosts costs;
  const cost::Problem problem{graph, cluster, costs, {16, plan::Optimizer::sgd}};
  const auto states = [&](std::optional<std::int64_t> micro_batch) {
    planners::SearchOptions options;
    options.micro_batch = micro_batch;
    return planners::planner("aceso").plan(problem, options, {}).states;
  };
  CHECK(states({}) > states(1) + states(2) + states(4));
}

TEST_CASE("a start of more than three times the best answer's time is judged, and left as it is") {
  const auto graph = support::tiny_graph(6, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}});
  const auto cluster = support::tiny_cluster(4);
  const auto costs = support::FixedCosts::uniform(6, 1, 2);
  const cost::Problem problem{graph, cluster, costs, {8, plan::Optimizer::sgd}};
  const auto judged_of_four_stages = [&](double slow) {
    std::atomic<int> judged = 0;
    planners::SearchOptions options;
    options.evaluate = [&](const plan::Plan& plan) {
      const bool deepest = plan.stages.size() == 4;
      judged += deepest;
      return core::Seconds(deepest ? slow : 1);
    };
    CHECK(planners::planner("aceso").plan(problem, options, {}).plan.stages.size() < 4);
    return judged.load();
  };
  CHECK(judged_of_four_stages(3.01) > 0);
  CHECK(judged_of_four_stages(2.99) > 2 * judged_of_four_stages(3.01));
}

namespace {

/// Returns how many plans became better.
int alleviate_all(std::uint64_t seeds) {
  int better = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    CAPTURE(seed);
    const auto random = support::random_problem(seed);
    const auto problem = random.problem();
    for (const char* planner : {"spp", "graphpipe", "data_parallel", "autopipe"}) {
      CAPTURE(planner);
      plan::Plan start;
      try {
        start = planners::planner(planner).plan(problem, {}, {}).plan;
      } catch (const core::Infeasible&) {
        continue;
      }
      const auto found = planners::alleviate(problem, {}, start, {});
      CHECK(score::violations(problem, found.plan).empty());
      CHECK(seconds(problem, found.plan) <= seconds(problem, start));
      better += seconds(problem, found.plan) < seconds(problem, start);
    }
  }
  return better;
}

}  // namespace

TEST_CASE("the result is never worse than the start of any planner; plans are valid") {
  CHECK(alleviate_all(50) > 5);
}

TEST_CASE("never worse than its start on many problems" * doctest::test_suite("slow")) {
  CHECK(alleviate_all(120) > 15);
}
