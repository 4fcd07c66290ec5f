// The dynamic programme against its slow twin: the paper's listing, read literally.

#include "src/planners/graphpipe/partition.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "models/catalogue.hpp"
#include "penstock/core/random.hpp"
#include "penstock/cost/analytic.hpp"
#include "src/planners/graphpipe/assemble.hpp"
#include "support/chain_listing.hpp"
#include "support/random_problem.hpp"

using namespace penstock;
using core::Bytes;
using core::Random;

namespace {

/// Two to twelve operators in a row; memory ample, or such that some counts of samples in flight do not fit.
support::RandomProblem random_chain(std::uint64_t seed) {
  Random random(seed);
  graph::GraphBuilder builder("chain");
  std::vector<support::LaunchCosts::PassTime> passes;
  const int size = random.between(2, 12);
  for (int v = 0; v < size; ++v) {
    graph::Operator op = support::unit_op("v" + std::to_string(v), 1e9, random.between(0, 9) * 100);
    op.output_bytes = op.saved_bytes = Bytes(random.between(1, 9) * 100);
    builder.add(op);
    passes.push_back({random.unit(), 0.2 + random.unit()});
    if (v > 0)
      builder.add_edge(core::OpId(static_cast<std::size_t>(v - 1)), core::OpId(static_cast<std::size_t>(v)));
  }
  const auto memory = random.chance(0.3) ? std::int64_t{1} << 40 : random.between(10, 60) * 1000;
  return {builder.build(),
          support::tiny_cluster(static_cast<std::size_t>(random.between(1, 6)), memory,
                                1e3 * (1 + random.unit()), 0.01),
          support::LaunchCosts(passes),
          {16, plan::Optimizer::momentum}};
}

/// The twin's answer for one bound: micro-batches in flight at the source.
std::optional<int> least_level(const cost::Problem& problem, const planners::StageTable& table,
                               const planners::UnitArrangement& row, double bound) {
  const auto stages =
      planners::PartitionSearch(row, table, bound, planners::LevelCounting::counted, {}).solve();
  if (!stages) return std::nullopt;
  const auto plan = planners::assemble(problem, table, *stages, false);
  return static_cast<int>(plan.stages.front().in_flight / plan.stages.front().micro_batch);
}

/// Every tenth of the stage times, and two that no stage exceeds.
std::vector<double> bounds(const std::vector<double>& times) {
  std::vector<double> out = {1e9 * times.back(), std::numeric_limits<double>::infinity()};
  for (std::size_t i = 0; i <= 10; ++i) out.push_back(times[i * (times.size() - 1) / 10]);
  return out;
}

}  // namespace

TEST_CASE("a table's loads are those of the operators, copies of shared parameters included") {
  int copies = 0;
  for (const char* name : {"gpt", "encoder_decoder"}) {
    const auto graph = models::build(name, {{"layers", "1"}});
    const auto cluster = support::tiny_cluster(1);
    const cost::AnalyticCosts costs;
    const cost::Problem problem{graph, cluster, costs, {1, plan::Optimizer::adam, {}}};
    const auto units = planners::planning_units(graph);
    const int size = static_cast<int>(units.operators.size());
    const planners::StageTable table(problem, units, planners::arrange_in_row(units.operators.size()),
                                     {{1}, {1}, 1}, {});
    for (int begin = 0; begin < size; ++begin)
      for (int end = begin + 1; end <= size; ++end) {
        const auto operators = table.operators({{begin, end}});
        core::Bytes own;
        for (const core::OpId op : operators) own += graph.parameter_bytes(op);
        const auto expected = cost::stage_load(problem, operators), found = table.load({{begin, end}});
        CHECK(found.parameters == expected.parameters);
        CHECK(found.activations == expected.activations);
        copies += expected.parameters > own;
      }
  }
  CHECK(copies > 40);
}

namespace {

void check_chains(std::uint64_t seeds) {
  int possible = 0, tight = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    CAPTURE(seed);
    const auto random = random_chain(seed);
    const auto problem = random.problem();
    const std::int64_t micro_batch = std::int64_t{1} << seed % 3;
    const support::ChainListing listing(problem, micro_batch);
    const auto units = planners::planning_units(problem.graph);
    const auto row = planners::arrange_in_row(units.operators.size());
    std::vector<int> replicas;
    for (int r = 1; r <= static_cast<int>(problem.cluster.size()); r *= 2) replicas.push_back(r);
    const planners::StageTable table(problem, units, row, {{micro_batch}, replicas, 1}, {});
    for (double bound : bounds(listing.stage_times())) {
      CAPTURE(bound);
      const auto expected = listing.least_level(bound);
      CHECK(least_level(problem, table, row, bound) == expected);
      expected ? ++possible : ++tight;
    }
  }
  const int common = static_cast<int>(seeds * 5 / 2);  // both answers are
  CHECK(possible > common);
  CHECK(tight > common);
}

}  // namespace

TEST_CASE("on chains the partition is that of the paper's listing for every bound") {
  check_chains(80);
}

TEST_CASE("on many chains the partition is that of the paper's listing" * doctest::test_suite("slow")) {
  check_chains(400);
}
