// The planners against every plan of their space, on small random problems.

#include "support/exhaustive.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "penstock/core/error.hpp"
#include "penstock/planners/planner.hpp"
#include "penstock/score/estimate.hpp"
#include "penstock/score/validate.hpp"
#include "support/near.hpp"
#include "support/random_problem.hpp"

using namespace penstock;
using support::BestBySize;

namespace {

std::optional<planners::SearchResult> planned(const std::string& planner, const cost::Problem& problem,
                                              std::optional<std::int64_t> micro_batch,
                                              planners::SearchOptions options) {
  options.pipeline_micro_batch = micro_batch;
  try {
    return planners::planner(planner).plan(problem, options, {});
  } catch (const core::Infeasible&) {
    return std::nullopt;
  }
}

bool takes_sums(const planners::SearchOptions& options) {
  return options.own.contains("objective");
}

/// The slowest stage, by the sum of all it does.
double slowest_sum(const score::PlanEstimate& estimate) {
  double most = 0;
  for (const auto& terms : estimate.stages)
    most = std::max(most, terms.compute + terms.communication + terms.reduce);
  return most;
}

void check_result(const cost::Problem& problem, const planners::SearchResult& found, double expected,
                  const planners::SearchOptions& options) {
  const auto violations = score::violations(problem, found.plan);
  CHECK_MESSAGE(violations.empty(), (violations.empty() ? "" : violations.front()));
  CHECK(found.bottleneck == support::near(expected, 1e-9));
  const auto stages = plan::StageGraph(problem.graph, found.plan);
  const auto estimate = score::estimate(problem, found.plan, stages);
  CHECK((takes_sums(options) ? slowest_sum(estimate) : estimate.bottleneck) == support::near(expected, 1e-9));
}

/// Pinned to each size, then with the size left open: then the best estimated iteration of all sizes wins.
void check_planner(const std::string& planner, const cost::Problem& problem, const BestBySize& truth,
                   const planners::SearchOptions& options = {}) {
  std::optional<double> shortest;
  const auto iteration = [&](const plan::Plan& plan) {
    return score::estimate(problem, plan).iteration.value();
  };
  for (const auto& [size, best] : truth) {
    CAPTURE(size);
    const auto found = planned(planner, problem, size, options);
    CHECK(found.has_value() == best.has_value());
    if (!found || !best) continue;
    check_result(problem, *found, best->bottleneck, options);
    const double seconds = iteration(found->plan);
    shortest = std::min(shortest.value_or(seconds), seconds);
  }
  planners::SearchOptions paper = options;
  paper.own["choose_by"] = "paper";
  const auto swept = planned(planner, problem, std::nullopt, paper);
  CHECK(swept.has_value() == shortest.has_value());
  if (!swept || !shortest) return;
  check_result(problem, *swept, truth.at(swept->plan.stages.front().micro_batch)->bottleneck, options);
  CHECK(iteration(swept->plan) == support::near(*shortest, 1e-9));
}

void check_seeds(std::uint64_t first, std::uint64_t last) {
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    CAPTURE(seed);
    const auto random = support::random_problem(seed);
    check_planner("graphpipe", random.problem(), support::own_space(random.problem()));
    check_planner("spp", random.problem(), support::row_space(random.problem()));
  }
}

}  // namespace

TEST_CASE("planners find the best plan of their space") {
  check_seeds(1, 60);
}

TEST_CASE("planners find the best plan with replica counts of any size") {
  planners::SearchOptions any;
  any.any_degree = true;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    const auto random = support::random_problem(seed);
    check_planner("graphpipe", random.problem(), support::own_space(random.problem(), {.any_degree = true}),
                  any);
  }
}

TEST_CASE("planners find the best plan where sending adds to computing") {
  planners::SearchOptions sum;
  sum.own = {{"objective", "sum"}};
  int other = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    const auto random = support::random_problem(seed);
    const auto& problem = random.problem();
    check_planner("graphpipe", problem, support::own_space(problem, {.added = true}), sum);
    check_planner("spp", problem, support::row_space(problem, {.added = true}), sum);
    const auto longer = planned("spp", problem, {}, {}), added = planned("spp", problem, {}, sum);
    other += longer && added &&
             slowest_sum(score::estimate(problem, longer->plan)) > added->bottleneck * (1 + 1e-9);
  }
  CHECK(other > 0);  // it is another objective
}

TEST_SUITE_BEGIN("slow");

TEST_CASE("planners find the best plan of their space, many seeds") {
  check_seeds(61, 3000);
}

TEST_SUITE_END();
