// graphpipe_climb: a plan that no single change makes faster.

#include "planners/local/climb.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "models/catalogue.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/plan/plan_file.hpp"
#include "penstock/planners/planner.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "penstock/score/estimate.hpp"
#include "penstock/score/validate.hpp"
#include "penstock/sim/simulate.hpp"
#include "support/checkout.hpp"
#include "support/fixed_costs.hpp"
#include "support/near.hpp"
#include "support/random_problem.hpp"

using namespace penstock;

namespace {

const cost::AnalyticCosts kCosts;

cluster::Cluster summit(int devices) {
  return cluster::load_cluster(support::checkout("/experiments/clusters/summit.yaml")).first(devices);
}

double simulated(const cost::Problem& problem, const plan::Plan& plan) {
  return to_seconds(sim::simulate_time(problem, {problem.graph, plan})).value();
}

double estimated(const cost::Problem& problem, const plan::Plan& plan) {
  return score::estimate(problem, plan).iteration.value();
}

/// Judged by simulation when `options` has no other judge; nothing when no plan fits.
std::optional<plan::Plan> search(const char* planner, const cost::Problem& problem,
                                 planners::SearchOptions options = {}) {
  if (!options.evaluate)
    options.evaluate = [&](const plan::Plan& p) { return core::Seconds(simulated(problem, p)); };
  try {
    auto plan = planners::planner(planner).plan(problem, options, {}).plan;
    const auto violations = score::violations(problem, plan);
    CHECK_MESSAGE(violations.empty(), (violations.empty() ? "" : violations.front()));
    return plan;
  } catch (const core::Infeasible&) {
    return std::nullopt;
  }
}

planners::SearchOptions by_estimate(const cost::Problem& problem) {
  planners::SearchOptions options;
  options.evaluate = [&](const plan::Plan& p) { return core::Seconds(estimated(problem, p)); };
  return options;
}

}  // namespace

TEST_CASE("it loses to graphpipe, to its rows or to data parallelism nowhere" *
          doctest::test_suite("oracle")) {
  for (const char* model : {"mmt", "dlrm", "candle_uno", "clip", "case_study", "transformer"}) {
    CAPTURE(model);
    const auto graph = models::build(model, {});
    const auto cluster = summit(8);
    const cost::Problem problem{graph, cluster, kCosts, {64, plan::Optimizer::sgd}};
    const double climbed = simulated(problem, *search("graphpipe_climb", problem));
    for (const char* other : {"graphpipe", "graphpipe_rows", "data_parallel"}) {
      CAPTURE(other);
      CHECK(climbed <= simulated(problem, *search(other, problem)));
    }
  }
}

TEST_CASE("a stage across branches balances loads that no branch and no piece of the row can") {
  // Branches of 6 2, 7 and 2 1 s each way, on three devices. A branch each gives 8 7 3. Better is 6 7 2+3,
  // where the last holds parts of two branches that do not follow each other in the row.
  const std::vector<double> work{6, 2, 7, 2, 1, 0.01};
  const auto graph = support::tiny_graph(6, {{0, 1}, {1, 5}, {2, 5}, {3, 4}, {4, 5}});
  const support::FixedCosts costs(work, work);
  const auto cluster = support::tiny_cluster(3, std::int64_t{1} << 40, 1e15);
  const cost::Problem problem{graph, cluster, costs, {64, plan::Optimizer::sgd}};
  planners::SearchOptions single = by_estimate(problem);
  single.pipeline_micro_batch = 1;
  const auto bottleneck = [&](const char* planner) {
    return score::estimate(problem, *search(planner, problem, single)).bottleneck;
  };
  CHECK(bottleneck("graphpipe_climb") == support::near(14));
  CHECK(bottleneck("graphpipe_rows") == support::near(16));
}

namespace {

struct Met {
  int climb = 0, rows = 0, problems = 0;
};

/// In how many problems the estimate of exhaustive search is met.
Met meets_exhaustive(std::uint64_t first, std::uint64_t last) {
  Met met;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    CAPTURE(seed);
    const auto random = support::random_problem(seed);
    if (random.graph.size() > 6) continue;
    const auto problem = random.problem();
    auto options = by_estimate(problem);
    options.any_degree = true;
    options.max_tensor_parallel = 1;
    const auto best = search("exhaustive", problem, options);
    const auto climbed = search("graphpipe_climb", problem, options),
               rows = search("graphpipe_rows", problem, options);
    CHECK(climbed.has_value() == rows.has_value());
    if (!climbed) continue;
    CHECK(estimated(problem, *climbed) <= estimated(problem, *rows));
    const double bound = estimated(problem, *best) * (1 + 1e-9);
    ++met.problems;
    met.climb += estimated(problem, *climbed) <= bound;
    met.rows += estimated(problem, *rows) <= bound;
  }
  return met;
}

}  // namespace

TEST_CASE("on small problems it is as good as exhaustive search more often than its beginnings are") {
  const auto met = meets_exhaustive(1, 80);
  MESSAGE(fmt::format("exhaustive's estimate met in {} of {} problems, by graphpipe_rows in {}", met.climb,
                      met.problems, met.rows));
  CHECK(met.problems > 25);
  CHECK(met.climb > met.rows);
}

TEST_CASE("a climb in several goes ends where one without a break does") {
  const auto graph = models::build("dlrm", {});
  const auto cluster = summit(8);
  const cost::Problem problem{graph, cluster, kCosts, {128, plan::Optimizer::sgd}};
  const planners::SearchOptions options;
  const plan::Plan start = *search("graphpipe", problem);
  const auto climbed = [&](std::vector<std::uint64_t> goes) {
    planners::Climb climb(
        problem, options, start, schedule::InFlight::depth,
        [&](const plan::Plan& p, core::Seconds) { return core::Seconds(simulated(problem, p)); }, {});
    for (const std::uint64_t most : goes) climb.go_on(most);
    return climb.best();
  };
  const auto once = climbed({400}), often = climbed({0, 1, 60, 61, 150, 150, 400}), first = climbed({60});
  CHECK(plan::to_yaml(graph, often.plan) == plan::to_yaml(graph, once.plan));
  CHECK(often.judged == once.judged);
  CHECK(often.iteration == once.iteration);
  CHECK(once.iteration < first.iteration);
}

namespace {

/// The plans that climbs judge, without those of the sweeps before them.
std::vector<std::string> judged_on_climbs(const char* model, std::int64_t mini_batch,
                                          bool beat_data_parallelism = false) {
  const auto graph = models::build(model, {});
  const auto cluster = summit(8);
  const cost::Problem problem{graph, cluster, kCosts, {mini_batch, plan::Optimizer::sgd}};
  std::mutex changing;
  std::vector<std::string> plans;
  planners::SearchOptions options;
  options.evaluate = [&](const plan::Plan& p) {
    const std::lock_guard lock(changing);
    plans.push_back(plan::to_yaml(graph, p));
    return core::Seconds(simulated(problem, p));
  };
  if (beat_data_parallelism)
    options.give_up = core::Seconds(simulated(problem, *search("data_parallel", problem)));
  options.own = {{"evaluations", "0"}, {"choose_by", "paper"}};
  CHECK(search("graphpipe_climb", problem, options));
  const std::set<std::string> swept(plans.begin(), plans.end());
  plans.clear();
  options.own = {{"evaluations", "400"}, {"choose_by", "paper"}};
  CHECK(search("graphpipe_climb", problem, options));
  std::erase_if(plans, [&](const std::string& plan) { return swept.contains(plan); });
  return plans;
}

}  // namespace

TEST_CASE("only one of several climbs from the same plan runs") {
  // A model without branches: the series-parallel space and the row have the same best plan.
  const auto plans = judged_on_climbs("transformer", 256);
  CHECK(plans.size() > 20);
  CHECK(std::set(plans.begin(), plans.end()).size() == plans.size());
}

TEST_CASE("climbs race: a slow one ends early") {
  constexpr std::size_t kBatch = 64;
  // Three begin: one ends at a sixteenth, one at a quarter.
  CHECK(judged_on_climbs("dlrm", 8).size() <= 25 + 100 + 400 + 3 * kBatch);
}

TEST_CASE("starts much slower than the best are judged and not climbed") {
  // Data parallelism is more than twice as fast as any pipeline.
  CHECK(judged_on_climbs("inception_v3", 256, true).size() <= 3);
  CHECK(judged_on_climbs("inception_v3", 256).size() > 25);
}

TEST_CASE("a pinned micro-batch stays pinned") {
  const auto graph = models::build("dlrm", {});
  const auto cluster = summit(8);
  const cost::Problem problem{graph, cluster, kCosts, {128, plan::Optimizer::sgd}};
  planners::SearchOptions of_replicas, of_pipeline;
  of_replicas.micro_batch = 16;
  of_pipeline.pipeline_micro_batch = 16;
  const auto replicas = search("graphpipe_climb", problem, of_replicas),
             pipeline = search("graphpipe_climb", problem, of_pipeline);
  for (const auto& stage : replicas->stages) CHECK(stage.micro_batch == 16 * stage.replicas());
  for (const auto& stage : pipeline->stages) CHECK(stage.micro_batch == 16);
}

TEST_CASE("with transfers hidden it climbs among plans with these counts" * doctest::test_suite("oracle")) {
  const auto graph = models::build("dlrm", {});
  const auto cluster = summit(8);
  const cost::Problem problem{graph, cluster, kCosts, {128, plan::Optimizer::sgd}};
  const auto with = [&](const char* rule) {
    planners::SearchOptions options;
    options.own = {{"in_flight", rule}};
    return simulated(problem, *search("graphpipe_climb", problem, options));
  };
  CHECK(with("either") == std::min(with("depth"), with("hide_transfers")));
}
