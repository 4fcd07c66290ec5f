// Planners find one plan for any number of threads.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <tbb/global_control.h>

#include <map>
#include <string>

#include "models/catalogue.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/plan/plan_file.hpp"
#include "penstock/planners/planner.hpp"
#include "support/checkout.hpp"
#include "support/random_problem.hpp"

using namespace penstock;

namespace {

// A thread sanitizer is ten times as slow, and finds a race on a few problems as on many.
#ifdef __SANITIZE_THREAD__
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

/// The plan as text and the planner's messages; or the reason why there is none.
std::string search(const planners::PlannerInfo& planner, const cost::Problem& problem, bool per_stage,
                   std::size_t threads) {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
  planners::SearchOptions options;
  options.per_stage_micro_batch = per_stage;
  if (planner.name == "joint") options.own = {{"evaluations", "500"}};
  try {
    const auto found = planner.plan(problem, options, {});
    const double estimate = found.estimate.value_or(core::Seconds(0)).value();
    return fmt::format("{}{} {} {}", plan::to_yaml(problem.graph, found.plan), found.bottleneck, found.states,
                       estimate);
  } catch (const core::Error& e) {
    return e.what();
  }
}

/// Returns how many planners found a plan.
int check(const cost::Problem& problem) {
  int plans = 0;
  for (const auto& planner : planners::catalogue())
    for (bool per_stage : {false, true}) {
      CAPTURE(planner.name);
      CAPTURE(per_stage);
      const std::string alone = search(planner, problem, per_stage, 1);
      CHECK(search(planner, problem, per_stage, 2) == alone);
      CHECK(search(planner, problem, per_stage, 4) == alone);
      plans += alone.find("stages:") != std::string::npos;
    }
  return plans;
}

void check_model(const char* model, const std::map<std::string, std::string>& parameters = {}) {
  CAPTURE(model);
  const cost::AnalyticCosts costs;
  const auto cluster = cluster::load_cluster(support::checkout("/experiments/clusters/summit.yaml")).first(8);
  const auto graph = models::build(model, parameters);
  CHECK(check({graph, cluster, costs, {64, plan::Optimizer::sgd}}) > 3);
}

int small_problems(std::uint64_t seeds) {
  int plans = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    CAPTURE(seed);
    const auto random = support::random_problem(seed);
    if (random.graph.size() <= 5) plans += check(random.problem());
  }
  return plans;
}

}  // namespace

TEST_CASE("1, 2 and 4 threads find the same plan, byte by byte, or report the same failure") {
  if (!kSanitized) check_model("mmt", {{"branches", "2"}, {"layers", "2"}});
  check_model("candle_uno", {{"towers", "3"}, {"tower_layers", "3"}});
}

TEST_CASE("1, 2 and 4 threads find the same plan of small problems, by exhaustive search too") {
  CHECK(small_problems(kSanitized ? 4 : 10) > (kSanitized ? 16 : 40));
}

TEST_SUITE_BEGIN("slow");

TEST_CASE("1, 2 and 4 threads find the same plan of networks that take long") {
  for (const char* model : {"mmt", "dlrm", "candle_uno", "inception_v3"}) check_model(model);
}

TEST_CASE("1, 2 and 4 threads find the same plan of many small problems") {
  CHECK(small_problems(30) > 50);
}

TEST_SUITE_END();
