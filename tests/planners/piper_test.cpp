#include <doctest/doctest.h>
#include <tbb/global_control.h>

#include "models/catalogue.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/plan/plan_file.hpp"
#include "penstock/planners/planner.hpp"
#include "penstock/score/validate.hpp"
#include "support/checkout.hpp"
#include "support/near.hpp"
#include "support/random_problem.hpp"
#include "support/tiny.hpp"

using namespace penstock;

namespace {

cluster::Cluster summit(int devices) {
  return cluster::load_cluster(support::checkout("/experiments/clusters/summit.yaml")).first(devices);
}

}  // namespace

TEST_CASE("piper planners: plans of random problems are valid and leave no device idle") {
  int planned = 0, recomputed = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    const auto random = support::random_problem(seed);
    const auto problem = random.problem();
    for (const char* name : {"piper", "piper_row"}) {
      CAPTURE(name);
      try {
        const auto found = planners::planner(name).plan(problem, {}, {});
        CHECK(score::violations(problem, found.plan) == std::vector<std::string>{});
        CHECK(found.estimate->value() > 0);
        CHECK(found.states > 0);
        ++planned;
        for (const auto& stage : found.plan.stages) recomputed += bool(stage.recompute);
      } catch (const core::Infeasible&) {
      }
    }
  }
  CHECK(planned > 60);
  CHECK(recomputed > 0);
}

TEST_CASE("piper planners: all downsets hold the row's, and replicas take whole micro-batches") {
  // Every cut of the row is a downset, so over all downsets piper's own estimate is never above piper_row's.
  const auto model = models::build("case_study", {});
  const auto cluster = summit(8);
  const cost::AnalyticCosts costs;
  const cost::Problem problem{model, cluster, costs, {64, plan::Optimizer::sgd}};
  planners::SearchOptions options;
  options.micro_batch = 4;
  const auto all = planners::planner("piper").plan(problem, options, {});
  const auto row = planners::planner("piper_row").plan(problem, options, {});
  CHECK(all.bottleneck <= row.bottleneck * (1 + 1e-9));
  for (const auto& stage : all.plan.stages)
    CHECK(stage.micro_batch == 4 * static_cast<std::int64_t>(stage.devices.size()));
}

TEST_CASE("piper planners: a flush counts against stages, and its plan is no slower by that count") {
  const auto model = models::build("gpt", {{"layers", "6"}});
  const auto cluster = summit(8);
  const cost::AnalyticCosts costs;
  const cost::Problem problem{model, cluster, costs, {16, plan::Optimizer::sgd}};
  planners::SearchOptions options;
  options.micro_batch = 1;
  options.max_tensor_parallel = 1;  // between the best without and with it the common estimate decides
  const auto steady = planners::planner("piper").plan(problem, options, {});
  options.own = {{"flush", "true"}};
  const auto flush = planners::planner("piper").plan(problem, options, {});
  const auto drained = [&](const planners::SearchResult& found, double per_sample) {
    return per_sample * (16 + static_cast<double>(found.plan.stages.size()) - 1);
  };
  CHECK(flush.estimate->value() <= drained(steady, steady.bottleneck) * (1 + 1e-9));
  CHECK(steady.estimate->value() == support::near(16 * steady.bottleneck));
}

TEST_CASE("piper planners: the same bytes on one thread and on three") {
  const auto model = models::build("case_study", {});
  const auto cluster = summit(8);
  const cost::AnalyticCosts costs;
  const cost::Problem problem{model, cluster, costs, {64, plan::Optimizer::adam}};
  for (const char* name : {"piper", "piper_row"}) {
    std::string text[2];
    for (int k : {0, 1}) {
      tbb::global_control limit(tbb::global_control::max_allowed_parallelism, k == 0 ? 1 : 3);
      text[k] = plan::to_yaml(model, planners::planner(name).plan(problem, {}, {}).plan);
    }
    CHECK(text[0] == text[1]);
  }
}

TEST_CASE("piper planners: lack of memory is reported, and too many downsets are a limit") {
  const cost::AnalyticCosts costs;
  const auto small = support::tiny_cluster(2, 1000, 1e9);
  const auto model = models::build("vgg16", {});
  const cost::Problem problem{model, small, costs, {8, plan::Optimizer::sgd}};
  CHECK_THROWS_WITH_AS(planners::planner("piper").plan(problem, {}, {}),
                       doctest::Contains("no plan fits in memory"), core::Infeasible);
  const auto wide = models::build("mmt", {});
  const auto cluster = summit(4);
  const cost::Problem branches{wide, cluster, costs, {8, plan::Optimizer::sgd}};
  CHECK_THROWS_WITH_AS(planners::planner("piper").plan(branches, {}, {}),
                       doctest::Contains("more than 40000 downsets"), core::Error);
  planners::SearchOptions options;
  options.k = 2;
  CHECK_THROWS_AS(planners::planner("piper").plan(problem, options, {}), core::BadInput);
}
