// SearchOptions::give_up: only plans that the caller rejects are left out.

#include <doctest/doctest.h>

#include <limits>
#include <optional>

#include "models/catalogue.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/experiment/cell.hpp"
#include "penstock/planners/planner.hpp"
#include "penstock/score/least_iteration.hpp"
#include "penstock/score/validate.hpp"
#include "support/checkout.hpp"
#include "support/random_problem.hpp"

using namespace penstock;

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Planners that may leave something out.
const char* const kSpared[] = {"dapple",    "alpa_inter", "spp_luo",        "piper",
                               "piper_row", "aceso",      "graphpipe_climb"};

struct CutoffAnswer {
  double iteration = kNever;  ///< s, simulated
  std::uint64_t states = 0;
};

CutoffAnswer answer(const char* planner, const cost::Problem& problem, double give_up = kNever) {
  planners::SearchOptions options;
  options.evaluate = experiment::simulated_time(problem, {});
  options.at_least = [&](const plan::Plan& plan) { return score::least_iteration(problem, plan); };
  options.give_up = core::Seconds(give_up);
  try {
    const auto found = planners::planner(planner).plan(problem, options, {});
    CHECK(score::violations(problem, found.plan).empty());
    return {options.evaluate(found.plan).value(), found.states};
  } catch (const core::Infeasible&) {
    return {};
  }
}

}  // namespace

TEST_CASE("a planner's answer stays as fast if slower plans are rejected") {
  for (const char* planner : kSpared)
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      CAPTURE(planner);
      CAPTURE(seed);
      const auto random = support::random_problem(seed);
      const auto problem = random.problem();
      const double alone = answer(planner, problem).iteration;
      if (alone < kNever) CHECK(answer(planner, problem, alone * (1 + 1e-9)).iteration <= alone);
    }
}

TEST_CASE("searches among rows are shorter if slower plans are rejected, and report if nothing is left") {
  const auto graph = models::build("gpt", {{"layers", "4"}});
  const auto cluster =
      cluster::load_cluster(support::checkout("/experiments/clusters/dgx_a100.yaml")).first(8);
  const cost::AnalyticCosts costs;
  const cost::Problem problem{graph, cluster, costs, {32, plan::Optimizer::adam}};
  for (const char* planner : {"dapple", "piper_row"}) {
    CAPTURE(planner);
    const CutoffAnswer alone = answer(planner, problem),
                       spared = answer(planner, problem, alone.iteration * 1.01);
    CHECK(spared.iteration <= alone.iteration);
    CHECK(spared.states < alone.states);
    CHECK(answer(planner, problem, alone.iteration / 2).iteration == kNever);
  }
}
