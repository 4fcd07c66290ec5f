#include "support/exhaustive.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <set>

#include "penstock/planners/planner.hpp"
#include "penstock/score/estimate.hpp"
#include "penstock/score/validate.hpp"
#include "planners/baselines/stage_partitions.hpp"
#include "planners/units.hpp"
#include "support/fixed_costs.hpp"
#include "support/near.hpp"
#include "support/random_problem.hpp"

using namespace penstock;

namespace {

double seconds(const cost::Problem& problem, const plan::Plan& plan) {
  return score::estimate(problem, plan).iteration.value();
}

std::optional<plan::Plan> planned(const planners::PlannerInfo& planner, const cost::Problem& problem,
                                  const planners::SearchOptions& options) {
  try {
    return planner.plan(problem, options, {}).plan;
  } catch (const core::Infeasible&) {
    return std::nullopt;
  } catch (const core::BadInput&) {  // options that the planner does not take
    return std::nullopt;
  }
}

/// True for plans in the space of `exhaustive`: 1f1b, one micro-batch size, separate devices, no
/// recomputation or ZeRO, allowed replica counts. Groups have a power of two devices and follow the rule.
bool in_space(const plan::Plan& plan, bool any_degree) {
  const auto rank = plan::rank_of_stage(plan);
  const auto ranks = static_cast<std::size_t>(*std::max_element(rank.begin(), rank.end())) + 1;
  return plan.schedule == "1f1b" && ranks == plan.stages.size() &&
         std::all_of(plan.stages.begin(), plan.stages.end(), [&](const plan::Stage& stage) {
           return !stage.recompute && stage.zero == 0 &&
                  stage.micro_batch == plan.stages.front().micro_batch && stage.partition.empty() &&
                  stage.shares.empty() && std::has_single_bit(static_cast<unsigned>(stage.tensor_parallel)) &&
                  (any_degree || std::has_single_bit(static_cast<std::uint64_t>(stage.replicas())));
         });
}

/// Small enough for a quick test.
bool small(const support::RandomProblem& random) {
  return random.graph.size() <= 6;
}

}  // namespace

TEST_CASE("a diamond a -> b, c -> d has 11 partitions: of the 15 of a set four wait for themselves") {
  // Bell's number is 15. Partitions with a and d in one stage and b or c outside wait for themselves:
  // {ad}{bc}, {ad}{b}{c}, {abd}{c}, {acd}{b}. All others can be ordered: 11.
  std::size_t count = 0;
  const graph::Dag diamond(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}});
  planners::for_each_stage_partition(diamond, 4, [&](const planners::StagePartition&) { ++count; });
  CHECK(count == 11);
  count = 0;
  planners::for_each_stage_partition(diamond, 1, [&](const planners::StagePartition&) { ++count; });
  CHECK(count == 1);
}

TEST_CASE("partitions of exhaustive search are those of the tests' own enumeration") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    const auto random = support::random_problem(seed);
    const auto units = planners::planning_units(random.graph);
    std::set<std::set<planners::UnitSet>> mine, theirs;
    std::size_t visits = 0;
    planners::for_each_stage_partition(units.dag, units.dag.size(),
                                       [&](const planners::StagePartition& stages) {
                                         mine.emplace(stages.begin(), stages.end());
                                         ++visits;
                                       });
    for (const auto& stages : support::all_partitions(units.dag))
      theirs.emplace(stages.begin(), stages.end());
    CHECK(mine == theirs);
    CHECK(visits == mine.size());
  }
}

TEST_CASE("two equal branches on two devices: side by side, no stage waits for the other") {
  graph::GraphBuilder builder("branches");
  for (const char* name : {"a", "b"}) builder.add(support::unit_op(name, 1e9, 1000));
  const auto graph = builder.build();
  const auto costs = support::FixedCosts::uniform(2, 1, 2);
  const auto cluster = support::tiny_cluster(2);
  const cost::Problem problem{graph, cluster, costs, {8, plan::Optimizer::sgd}};
  planners::SearchOptions alone;
  alone.max_tensor_parallel = 1;
  const auto found = planners::planner("exhaustive").plan(problem, alone, {});
  // 8 samples of 3 s each. One stage on both: as long, and 4 kB of gradients of each operator to sum.
  CHECK(found.plan.stages.size() == 2);
  CHECK(found.bottleneck == support::near(3));
  CHECK(seconds(problem, found.plan) == support::near(8 * 3));
  // Plans: one stage on 2 devices with micro-batches of 2, 4, 8; two stages with 1, 2, 4, 8.
  CHECK(found.states == 7);
  // More plans: one stage on 2 devices that run each operator together, with 1, 2, 4, 8.
  CHECK(planners::planner("exhaustive").plan(problem, {}, {}).states == 11);
}

namespace {

struct Comparison {
  int compared = 0, equal = 0;
};

/// Every planner against exhaustive search on one problem, under the estimate.
void compare(const cost::Problem& problem, bool any_degree, Comparison& count) {
  planners::SearchOptions options;
  options.any_degree = any_degree;
  const auto oracle = planned(planners::planner("exhaustive"), problem, options);
  if (oracle) CHECK(score::violations(problem, *oracle).empty());
  for (const auto& info : planners::catalogue()) {
    CAPTURE(info.name);
    const auto found = planned(info, problem, options);
    if (!found) continue;
    CHECK(score::violations(problem, *found).empty());
    if (!in_space(*found, any_degree)) continue;
    REQUIRE(oracle.has_value());
    CHECK(seconds(problem, *oracle) <= seconds(problem, *found) * (1 + 1e-9));
    ++count.compared;
    count.equal += seconds(problem, *oracle) >= seconds(problem, *found) * (1 - 1e-9);
  }
}

Comparison compare_seeds(std::uint64_t first, std::uint64_t last, std::size_t most_operators) {
  Comparison count;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    CAPTURE(seed);
    const auto random = support::random_problem(seed);
    if (random.graph.size() <= most_operators) compare(random.problem(), seed % 2 == 0, count);
  }
  return count;
}

}  // namespace

TEST_CASE("every plan is valid, and none that exhaustive search tries too has a lower estimate") {
  const auto count = compare_seeds(1, 30, 6);
  CHECK(count.compared > 60);
  CHECK(count.equal > 20);
}

namespace {

void check_against_enumeration(std::uint64_t first, std::uint64_t last) {
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const auto random = support::random_problem(seed);
    if (!small(random)) continue;
    CAPTURE(seed);
    const auto problem = random.problem();
    double least = std::numeric_limits<double>::infinity();
    for (const auto& [size, best] : support::all_valid(problem))
      if (best) least = std::min(least, seconds(problem, best->plan));
    planners::SearchOptions alone;  // as in the enumeration, no operator is shared
    alone.max_tensor_parallel = 1;
    const auto found = planned(planners::planner("exhaustive"), problem, alone);
    const auto together = planned(planners::planner("exhaustive"), problem, {});
    if (found) REQUIRE(together.has_value());
    if (found) CHECK(seconds(problem, *together) <= seconds(problem, *found));
    CHECK(found.has_value() == (least < std::numeric_limits<double>::infinity()));
    if (found) CHECK(seconds(problem, *found) <= least * (1 + 1e-9));
  }
}

}  // namespace

TEST_CASE("it finds a plan wherever one exists in the tests' enumeration, and none of those is faster") {
  check_against_enumeration(151, 180);
}

namespace {

void compare_sizes(std::uint64_t first, std::uint64_t last) {
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const auto random = support::random_problem(seed);
    if (random.graph.size() > 4) continue;
    CAPTURE(seed);
    planners::SearchOptions free;
    free.per_stage_micro_batch = true;
    const auto one = planned(planners::planner("exhaustive"), random.problem(), {});
    const auto own = planned(planners::planner("exhaustive"), random.problem(), free);
    if (one) REQUIRE(own.has_value());
    if (one) CHECK(seconds(random.problem(), *own) <= seconds(random.problem(), *one));
  }
}

}  // namespace

TEST_CASE("sizes of each stage's own are at least as good as one for all") {
  compare_sizes(1, 15);
}

TEST_CASE("a problem that is too large exceeds a limit before the search") {
  const auto costs = support::FixedCosts::uniform(13, 1, 1);
  const auto message = [&](std::size_t operators, std::size_t devices) -> std::string {
    const auto graph = support::tiny_graph(operators, {});
    const auto many = support::tiny_cluster(devices);
    const cost::Problem problem{graph, many, costs, {8, plan::Optimizer::sgd}};
    try {
      planners::planner("exhaustive").plan(problem, {}, {});
    } catch (const core::Error& e) {
      CHECK(e.code() == core::ExitCode::limit);
      return e.what();
    }
    return "a plan was found";
  };
  CHECK(message(13, 1) == "exhaustive tries every plan: 13 operators are more than 12");
  CHECK(message(12, 1) == "a plan was found");
  CHECK(message(12, 8) == "exhaustive tries every plan: there are more than 262144");
}

TEST_CASE("nothing fits: the thriftiest plan's shortage is named") {
  const auto graph = support::tiny_graph(2, {{0, 1}});
  const auto costs = support::FixedCosts::uniform(2, 1, 1);
  const auto cluster = support::tiny_cluster(1, 3999);
  const cost::Problem problem{graph, cluster, costs, {4, plan::Optimizer::sgd}};
  // Both in one stage, one sample: 2 kB kept and 2 kB worked on.
  CHECK_THROWS_WITH_AS(planners::planner("exhaustive").plan(problem, {}, {}),
                       "no plan fits: even with the least memory stage 0 needs 3.91 KiB on device 0, which "
                       "has 3.91 KiB: 1.00 B missing",
                       core::Infeasible);
}

TEST_SUITE_BEGIN("slow");

TEST_CASE("every plan is valid and none beats exhaustive search, many seeds") {
  const auto count = compare_seeds(31, 1200, 7);
  MESSAGE("exhaustive's estimate met in ", count.equal, " of ", count.compared, " plans");
  CHECK(count.compared > 3000);
}

TEST_CASE("in the tests' enumeration of many problems none is faster") {
  check_against_enumeration(181, 220);
}

TEST_CASE("sizes of each stage's own on many problems") {
  compare_sizes(16, 40);
}

TEST_SUITE_END();
