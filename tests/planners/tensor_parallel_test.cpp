// Planners that let devices run operators together, against each other and against exhaustive search.

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>

#include "models/catalogue.hpp"
#include "penstock/core/error.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/planners/planner.hpp"
#include "penstock/score/estimate.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/validate.hpp"
#include "penstock/sim/simulate.hpp"
#include "support/fixed_costs.hpp"
#include "support/random_problem.hpp"

using namespace penstock;

namespace {

std::optional<plan::Plan> planned(const char* planner, const cost::Problem& problem,
                                  const planners::SearchOptions& options) {
  try {
    return planners::planner(planner).plan(problem, options, {}).plan;
  } catch (const core::Infeasible&) {
    return std::nullopt;
  }
}

double estimated(const cost::Problem& problem, const plan::Plan& plan) {
  return score::estimate(problem, plan).iteration.value();
}

bool sharded(const plan::Plan& plan) {
  return std::any_of(plan.stages.begin(), plan.stages.end(),
                     [](const auto& stage) { return stage.tensor_parallel > 1; });
}

bool recomputes(const plan::Plan& plan) {
  return std::any_of(plan.stages.begin(), plan.stages.end(),
                     [](const auto& stage) { return bool(stage.recompute); });
}

}  // namespace

TEST_CASE("tensor parallelism: weights too large for a device are shared by two") {
  // One matrix of 1000 weights: 4 kB and as much for their gradient. Half of both is 4 kB. A sample keeps 500
  // bytes of output and works on the gradient of as many, and on half a gradient of weights: 7,000 bytes.
  graph::GraphBuilder builder("matrix");
  builder.add(support::unit_op("a", 1e9, 1000));
  const auto graph = builder.build();
  const auto costs = support::FixedCosts::uniform(1, 1, 2);
  for (const char* planner : {"piper", "piper_row", "exhaustive"}) {
    CAPTURE(planner);
    planners::SearchOptions alone;
    alone.max_tensor_parallel = 1;
    for (const std::int64_t memory : {6999, 7000}) {
      const auto cluster = support::tiny_cluster(2, memory);
      const cost::Problem problem{graph, cluster, costs, {4, plan::Optimizer::sgd}};
      CHECK_FALSE(planned(planner, problem, alone).has_value());
      const auto found = planned(planner, problem, {});
      CHECK(found.has_value() == (memory == 7000));
      if (found) CHECK(found->stages.front().tensor_parallel == 2);
    }
  }
}

namespace {

struct TensorGain {
  int together = 0, better = 0;
};

/// Piper with tensor parallelism beside piper without.
TensorGain gain(std::uint64_t first, std::uint64_t last) {
  TensorGain out;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    CAPTURE(seed);
    const auto random = support::random_problem(seed);
    const auto problem = random.problem();
    planners::SearchOptions alone;
    alone.max_tensor_parallel = 1;
    const auto without = planned("piper", problem, alone), with = planned("piper", problem, {});
    if (without) {
      CHECK_FALSE(sharded(*without));
      REQUIRE(with.has_value());
      CHECK(estimated(problem, *with) <= estimated(problem, *without));
      out.better += estimated(problem, *with) < estimated(problem, *without) * (1 - 1e-9);
    }
    if (!with) continue;
    CHECK(score::violations(problem, *with).empty());
    out.together += sharded(*with);
  }
  return out;
}

}  // namespace

TEST_CASE("tensor parallelism: piper with it is judged no worse than without, which stays as it was") {
  const TensorGain found = gain(1, 40);
  CHECK(found.together > 3);
  CHECK(found.better > 1);
}

namespace {

struct TensorComparison {
  int compared = 0, together = 0;
};

/// Piper gives each stage micro-batches in proportion to its replicas, so exhaustive search must choose sizes
/// per stage.
TensorComparison compare(std::uint64_t first, std::uint64_t last, bool by_simulation) {
  TensorComparison out;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    CAPTURE(seed);
    const auto random = support::random_problem(seed);
    if (random.graph.size() > 4) continue;
    const auto problem = random.problem();
    planners::SearchOptions one, own;
    if (by_simulation)
      one.evaluate = [&](const plan::Plan& plan) {
        return to_seconds(sim::simulate_time(problem, score::scheduled(problem, plan)));
      };
    own = one;
    own.per_stage_micro_batch = true;
    const auto seconds = [&](const plan::Plan& plan) {
      return by_simulation ? one.evaluate(plan).value() : estimated(problem, plan);
    };
    for (const char* planner : {"piper", "piper_row", "megatron"}) {
      CAPTURE(planner);
      const auto found = planned(planner, problem, one);
      if (!found || recomputes(*found) || found->stages[0].zero > 0 || found->schedule != "1f1b") continue;
      const auto oracle = planned("exhaustive", problem, own);
      REQUIRE(oracle.has_value());
      CHECK(seconds(*oracle) <= seconds(*found) * (1 + 1e-9));
      ++out.compared;
      out.together += sharded(*found);
    }
  }
  return out;
}

}  // namespace

TEST_CASE("megatron divides tokens only with the option, and then finds no worse plan") {
  const auto graph = models::build(
      "gpt", {{"layers", "2"}, {"hidden", "64"}, {"heads", "4"}, {"sequence", "512"}, {"vocabulary", "64"}});
  const auto cluster = support::tiny_cluster(8, std::int64_t{1} << 40, 1e11);
  const cost::AnalyticCosts costs;
  const cost::Problem problem{graph, cluster, costs, {2}};  // two samples for eight devices
  planners::SearchOptions options;
  options.max_tensor_parallel = 1;
  const auto without = planned("megatron", problem, options);
  REQUIRE(without);
  const auto context = [](const plan::Plan& plan) {
    int most = 0;
    for (const auto& stage : plan.stages) most = std::max(most, stage.context_parallel);
    return most;
  };
  CHECK(context(*without) == 1);
  options.own = {{"max_context_parallel", "4"}};
  const auto with = planned("megatron", problem, options);
  REQUIRE(with);
  CHECK(context(*with) > 1);
  CHECK(context(*with) <= 4);
  CHECK(score::violations(problem, *with).empty());
  CHECK(estimated(problem, *with) < estimated(problem, *without));
}

TEST_CASE("tensor parallelism: no planner's plan has a lower estimate than exhaustive search finds") {
  const auto count = compare(1, 40, false);
  CHECK(count.compared > 20);
  CHECK(count.together > 2);
}

TEST_CASE("tensor parallelism: nor is any simulated to be faster") {
  const auto count = compare(1, 15, true);
  CHECK(count.compared > 3);
  CHECK(count.together > 0);
}

TEST_SUITE_BEGIN("slow");

TEST_CASE("tensor parallelism: the same, many seeds") {
  CHECK(gain(41, 150).together > 6);
  CHECK(compare(41, 2000, false).together > 50);
  CHECK(compare(16, 400, true).compared > 100);
}

TEST_SUITE_END();
