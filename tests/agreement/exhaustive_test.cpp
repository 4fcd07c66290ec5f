// The planners against every plan of their space, on small random problems.

#include "support/exhaustive.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "penstock/core/error.hpp"
#include "penstock/planners/planner.hpp"
#include "penstock/score/estimate.hpp"
#include "penstock/score/validate.hpp"
#include "support/random_problem.hpp"

using namespace penstock;
using support::BestBySize;

namespace {

std::optional<planners::SearchResult> planned(const std::string& planner, const cost::Problem& problem,
                                              std::optional<std::int64_t> micro_batch, bool any_degree) {
  planners::SearchOptions options;
  options.micro_batch = micro_batch;
  options.any_degree = any_degree;
  try {
    return planners::planner(planner).plan(problem, options, {});
  } catch (const core::Infeasible&) {
    return std::nullopt;
  }
}

double iteration(const cost::Problem& problem, const plan::Plan& plan) {
  return score::estimate(problem, plan).iteration.value();
}

void check_result(const cost::Problem& problem, const planners::SearchResult& found, double expected) {
  const auto faults = score::faults(problem, found.plan);
  CHECK_MESSAGE(faults.empty(), (faults.empty() ? "" : faults.front()));
  CHECK(found.bottleneck == doctest::Approx(expected).epsilon(1e-9));
  const auto stages = plan::StageGraph(problem.graph, found.plan);
  CHECK(score::estimate(problem, found.plan, stages).bottleneck == doctest::Approx(expected).epsilon(1e-9));
}

/// Pinned to each size, then with the size left open: then the best estimated iteration of all sizes wins.
void check_planner(const std::string& planner, const cost::Problem& problem, const BestBySize& truth,
                   bool any_degree = false) {
  std::optional<double> shortest;
  for (const auto& [size, best] : truth) {
    CAPTURE(size);
    const auto found = planned(planner, problem, size, any_degree);
    CHECK(found.has_value() == best.has_value());
    if (!found || !best) continue;
    check_result(problem, *found, best->bottleneck);
    const double seconds = iteration(problem, found->plan);
    shortest = std::min(shortest.value_or(seconds), seconds);
  }
  const auto swept = planned(planner, problem, std::nullopt, any_degree);
  CHECK(swept.has_value() == shortest.has_value());
  if (!swept || !shortest) return;
  check_result(problem, *swept, truth.at(swept->plan.stages.front().micro_batch)->bottleneck);
  CHECK(iteration(problem, swept->plan) == doctest::Approx(*shortest).epsilon(1e-9));
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
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    const auto random = support::random_problem(seed);
    check_planner("graphpipe", random.problem(), support::own_space(random.problem(), {.any_degree = true}),
                  true);
  }
}

TEST_SUITE_BEGIN("slow");

TEST_CASE("planners find the best plan of their space, many seeds") {
  check_seeds(61, 3000);
}

TEST_SUITE_END();
