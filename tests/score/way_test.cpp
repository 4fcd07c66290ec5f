#include "score/way.hpp"

#include <doctest/doctest.h>

#include "support/random_problem.hpp"

using namespace penstock;

namespace {

/// a -> c, b -> c, c -> d.
graph::OpGraph forked() {
  graph::GraphBuilder builder("fork");
  for (const char* name : {"a", "b", "c", "d"}) builder.add(support::unit_op(name, 1, 0));
  for (const auto& [from, to] : {std::pair{0, 2}, {1, 2}, {2, 3}})
    builder.add_edge(core::OpId(static_cast<std::size_t>(from)), core::OpId(static_cast<std::size_t>(to)));
  return builder.build();
}

}  // namespace

TEST_CASE(
    "a way goes down by the slower branch, turns at the end, and up by the one whose gradients last longer") {
  // Down: b 5, c 1, d 2. Up: d 1, c 3, then a 4 and its weight gradient 2; b takes 1 and 1.
  const std::vector<score::PassTimes> passes = {{1, 4, 2}, {5, 1, 1}, {1, 3, 0}, {2, 1, 0}};
  const score::SamplePath way = score::longest_way(forked(), passes);
  CHECK(way.length == 5 + 1 + 2 + 1 + 3 + 4 + 2);
  CHECK(way.end == 0);
  CHECK(way.down == std::vector<double>{1, 5, 6, 8});
  CHECK(way.up == std::vector<double>{6, 2, 9, 10});
  CHECK(way.steps[0].forward == 0);
  CHECK(way.steps[0].input_gradient == 1);
  CHECK(way.steps[0].weight_gradient == 1);
  CHECK(way.steps[1].forward == 1);
  CHECK(way.steps[1].input_gradient == 0);
  CHECK(way.steps[3].forward == 1);
  CHECK(way.steps[3].weight_gradient == 0);
  for (const score::PassCounts& steps : way.steps) CHECK(steps.leads == 1);
}

TEST_CASE("a way ends where a weight gradient takes longer than all that is above it") {
  const std::vector<score::PassTimes> passes = {{1, 1, 1}, {1, 1, 1}, {1, 1, 9}, {1, 1, 0}};
  const score::SamplePath way = score::longest_way(forked(), passes);
  CHECK(way.end == 2);
  CHECK(way.length == 3 + 2 + 9);
  CHECK(way.steps[2].weight_gradient == 1);
  CHECK(way.steps[0].input_gradient == 0);
}

TEST_CASE("a way turns early where what is below takes no time") {
  const std::vector<score::PassTimes> passes = {{1, 1, 1}, {1, 2, 1}, {0, 0, 0}, {0, 0, 0}};
  const score::SamplePath way = score::longest_way(forked(), passes);
  CHECK(way.length == 1 + 2 + 1);
  CHECK(way.end == 1);
  CHECK(way.steps[1].leads == 1);
  for (const std::size_t beside : {0, 2, 3}) CHECK(way.steps[beside].leads == 0);
}

TEST_CASE("the mean of all ways counts branches in proportion to their weight") {
  const auto steps = score::mean_way(forked(), std::vector<double>{1, 3, 5, 5});
  for (const auto& [op, share] : {std::pair{0, 0.25}, {1, 0.75}, {2, 1.0}, {3, 1.0}}) {
    CHECK(steps[static_cast<std::size_t>(op)].forward == share);
    CHECK(steps[static_cast<std::size_t>(op)].input_gradient == share);
    CHECK(steps[static_cast<std::size_t>(op)].weight_gradient == 0);
  }
  const auto even = score::mean_way(forked(), std::vector<double>{0, 0, 0, 0});
  CHECK(even[0].forward == 0.5);
  CHECK(even[1].forward == 0.5);
}

TEST_CASE("an operator before two ends takes each end's turn in the share of ways through it") {
  graph::GraphBuilder builder("two ends");
  for (const char* name : {"a", "b", "c"}) builder.add(support::unit_op(name, 1, 0));
  builder.add_edge(core::OpId(0), core::OpId(1));
  builder.add_edge(core::OpId(0), core::OpId(2));
  const auto steps = score::mean_way(builder.build(), std::vector<double>{1, 1, 3});
  CHECK(steps[0].leads == 1);
  CHECK(steps[1].leads == 0.25);
  CHECK(steps[2].leads == 0.75);
}
