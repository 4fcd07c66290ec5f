// The plan spaces themselves: small ones drawn, and how they contain each other.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "support/exhaustive.hpp"
#include "support/random_graph.hpp"
#include "support/random_problem.hpp"

using namespace penstock;

namespace {

bool is_subset(const support::Partitions& part, const support::Partitions& whole) {
  return std::includes(whole.begin(), whole.end(), part.begin(), part.end());
}

/// Bottlenecks in the space of graphpipe against those of a larger or another space, over micro-batch sizes.
struct SpaceLoss {
  int compared = 0, worse = 0, better = 0;
  int no_plan = 0;  ///< the other space has a plan, this one has none
  double worst = 0, sum = 0;

  void add(const support::BestBySize& own, const support::BestBySize& other) {
    for (const auto& [size, best] : other) {
      if (!best) continue;
      ++compared;
      const auto& mine = own.at(size);
      no_plan += !mine;
      if (mine) add(mine->bottleneck / best->bottleneck - 1);
    }
  }
  void add(double loss) {
    worse += loss > 1e-9;
    better += loss < -1e-9;
    worst = std::max(worst, loss);
    sum += loss;
  }
  std::string text() const {
    return fmt::format("{} compared, {} worse, {} better, {} without a plan; mean {:+.1f} %, worst {:+.1f} %",
                       compared, worse, better, no_plan, 100 * sum / compared, 100 * worst);
  }
};

bool one_sink(const graph::Dag& dag) {
  int sinks = 0;
  for (std::size_t v = 0; v < dag.size(); ++v) sinks += dag.successors(static_cast<graph::Vertex>(v)).empty();
  return sinks == 1;
}

}  // namespace

TEST_CASE("the space of a diamond, drawn") {
  // a -> (b, c) -> d. Closed: the four compositions of three elements. Opened, with b | c apart: a may be a
  // stage of its own or join b or c, and so may d, but not both the same. That makes 3 * 3 - 2 = 7. Opened,
  // with {b c} as a group: a single or joined, d single or joined, not both: 3, which the closed ones
  // contain.
  const auto diamond = graph::Dag(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}});
  CHECK(support::series_parallel_partitions(diamond).size() == 4 + 7);
  // All: of the 15 partitions of four, those cannot be ordered that join a and d without both b and c: 4.
  CHECK(support::all_partitions(diamond).size() == 4 + 7);
  CHECK(support::row_partitions(4).size() == 8);
}

TEST_CASE("a run between two opened blocks may join a stage on each side") {
  // (a, b) -> c -> (d, e): one stage {b c d} beside a and e.
  const auto bow = graph::Dag(5, {{0, 2}, {1, 2}, {2, 3}, {2, 4}});
  CHECK(support::series_parallel_partitions(bow).count({0b00001, 0b01110, 0b10000}) == 1);
}

TEST_CASE("a run that joined a block inside a branch is joined again only on request") {
  // ((a, b) -> d, c) -> e: the run d may join b, and e may join the branch's last run d, but {b d e} is one
  // too many.
  const auto nested = graph::Dag(5, {{0, 3}, {1, 3}, {2, 4}, {3, 4}});
  const support::Partition chained{0b00001, 0b00100, 0b11010};
  CHECK(support::series_parallel_partitions(nested).count(chained) == 0);
  CHECK(support::series_parallel_partitions(nested, true).count(chained) == 1);
  // The mirror image is in the space: e -> (d -> (a, b), c) with {e d b}.
  const auto mirrored = graph::Dag(5, {{0, 1}, {0, 2}, {1, 3}, {1, 4}});
  CHECK(support::series_parallel_partitions(mirrored).count({0b01011, 0b00100, 0b10000}) == 1);
}

TEST_CASE("an input belongs to its first reader") {
  // Inputs a and b; a is read by c and d, b by d.
  graph::GraphBuilder builder("inputs");
  auto input = support::unit_op("a");
  input.kind = graph::OpKind::input;
  const auto a = builder.add(input);
  input.name = "b";
  const auto b = builder.add(input);
  builder.add(support::unit_op("c"), {a});
  builder.add(support::unit_op("d"), {a, b});
  const auto units = support::planning_units(builder.build());
  REQUIRE(units.operators.size() == 2);
  CHECK(units.operators[0] == std::vector{core::OpId(0), core::OpId(2)});
  CHECK(units.operators[1] == std::vector{core::OpId(1), core::OpId(3)});
  CHECK(units.dag.has_edge(0, 1));
}

TEST_CASE("the spaces contain each other as they should") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    core::Random random(seed);
    const auto units = test::random_series_parallel(random, random.between(2, 7));
    const auto all = support::all_partitions(units);
    CHECK(is_subset(support::series_parallel_partitions(units), all));
    for (const auto& row : support::row_partitions(units.size()))
      CHECK(all.count(support::in_order(units, row)) == 1);
  }
}

TEST_SUITE_BEGIN("slow");

TEST_CASE("how much the space of graphpipe leaves out") {
  SpaceLoss all[2], row[2], wider;  // [several sinks, one sink]
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    const auto random = support::random_problem(seed);
    const auto own = support::own_space(random.problem());
    const bool joined = one_sink(random.graph.dag());
    all[joined].add(own, support::all_valid(random.problem()));
    row[joined].add(own, support::row_space(random.problem()));
    wider.add(own, support::own_space(random.problem(), {.rejoined = true}));
  }
  MESSAGE("against every plan, one sink: ", all[1].text());
  MESSAGE("against every plan, several sinks: ", all[0].text());
  MESSAGE("against spp, one sink: ", row[1].text());
  MESSAGE("against spp, several sinks: ", row[0].text());
  MESSAGE("against the space with rejoined runs: ", wider.text());
  for (const SpaceLoss& loss : all) {
    CHECK(loss.better == 0);
    CHECK(loss.worse < loss.compared / 2);
    CHECK(loss.sum < 0.1 * loss.compared);
  }
  CHECK(wider.better == 0);
  CHECK(wider.worse < wider.compared / 100);
}

TEST_SUITE_END();
