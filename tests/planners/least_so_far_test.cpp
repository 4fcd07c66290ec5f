#include "planners/least_so_far.hpp"

#include <doctest/doctest.h>

#include <mutex>
#include <set>

#include "penstock/core/thread_limit.hpp"
#include "penstock/planners/planner.hpp"
#include "support/fixed_costs.hpp"
#include "support/random_problem.hpp"

using namespace penstock;

TEST_CASE("it only falls") {
  planners::LeastSoFar least;
  for (const double seconds : {3.0, 5.0, 2.0, 4.0}) least.lower(core::Seconds(seconds));
  CHECK(least.seconds() == core::Seconds(2));
}

// Plans of 64 samples at once take 10,000 s, of 32 1,000 s, of fewer 5,000 s, and bounds agree; planners' own
// formulas give less.
TEST_CASE("one micro-batch size spares smaller ones, though the largest is the slowest") {
  const auto graph = support::tiny_graph(4, {{0, 1}, {1, 2}, {2, 3}});
  const auto cluster = support::tiny_cluster(2);
  const auto costs = support::FixedCosts::uniform(4, 1, 2);
  const cost::Problem problem{graph, cluster, costs, {64, plan::Optimizer::sgd}};
  const auto seconds = [](const plan::Plan& plan) {
    const auto samples = plan.stages.front().micro_batch;
    return core::Seconds(samples == 64 ? 10000 : samples == 32 ? 1000 : 5000);
  };
  const core::ThreadLimit alone(1);
  for (const char* planner : {"graphpipe", "piper_row", "dapple", "alpa_inter", "spp_luo"}) {
    CAPTURE(planner);
    std::set<std::int64_t> evaluated;
    planners::SearchOptions options;
    options.evaluate = [&](const plan::Plan& plan) {
      evaluated.insert(plan.stages.front().micro_batch);
      return seconds(plan);
    };
    CHECK(planners::planner(planner).plan(problem, options, {}).plan.stages.front().micro_batch == 32);
    CHECK(evaluated.size() >= 6);  // some cannot give two devices one sample
    evaluated.clear();
    options.at_least = seconds;
    CHECK(planners::planner(planner).plan(problem, options, {}).plan.stages.front().micro_batch == 32);
    CHECK(evaluated == std::set<std::int64_t>{32, 64});
  }
}

// One plan of several micro-batch sizes is evaluated before the limit, and takes long. The estimates of other
// plans are lower.
TEST_CASE("at a limit a plan that was evaluated counts more than estimates of others") {
  const auto graph = support::tiny_graph(4, {{0, 1}, {1, 2}, {2, 3}});
  const auto cluster = support::tiny_cluster(2);
  const auto costs = support::FixedCosts::uniform(4, 1, 2);
  const cost::Problem problem{graph, cluster, costs, {64, plan::Optimizer::sgd}};
  const core::ThreadLimit alone(1);
  std::set<std::int64_t> evaluated;
  planners::SearchOptions options;
  options.evaluate = [&](const plan::Plan& plan) {
    if (!evaluated.empty()) throw core::TimedOut();
    evaluated.insert(plan.stages.front().micro_batch);
    return core::Seconds(10000);
  };
  const auto found = planners::planner("graphpipe").plan(problem, options, {});
  CHECK_FALSE(found.complete);
  CHECK(evaluated == std::set<std::int64_t>{found.plan.stages.front().micro_batch});
}
