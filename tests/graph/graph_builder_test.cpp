#include "penstock/graph/graph_builder.hpp"

#include <doctest/doctest.h>

#include <string>

#include "penstock/core/error.hpp"

using namespace penstock;
using core::OpId;
using graph::GraphBuilder;
using graph::Operator;

namespace {

Operator named(const char* name) {
  Operator op;
  op.name = name;
  return op;
}

}  // namespace

TEST_CASE("operators keep their order of addition when it is topological") {
  GraphBuilder b("m");
  const OpId x = b.add(named("x"));
  const OpId y = b.add(named("y"));
  b.add(named("z"), {y, x, y});
  const auto g = b.build();
  CHECK(g.op(OpId(0)).name == "x");
  CHECK(g.dag().edges() == std::vector<graph::Edge>{{0, 2}, {1, 2}});
}

TEST_CASE("an edge against the order of addition renumbers") {
  // c was added first but consumes a and b.
  GraphBuilder b("m");
  const OpId c = b.add(named("c")), a = b.add(named("a")), bb = b.add(named("b"));
  b.add_edge(a, c);
  b.add_edge(bb, c);
  const auto g = b.build();
  CHECK(g.op(OpId(2)).name == "c");
  CHECK(g.dag().predecessors(2).size() == 2);
}

TEST_CASE("training needs gradients from the first weights on, or the first tied ones") {
  //  x -> a -> b (weights) -> c     x -> t (work for weights it shares) -> u
  GraphBuilder b("m");
  const OpId x = b.add(named("x")), a = b.add(named("a"), {x});
  Operator weights = named("b"), tied = named("t");
  weights.parameters = 1;
  tied.weight_gradient_flops = core::Flops(1);
  const OpId w = b.add(weights, {a}), c = b.add(named("c"), {w}), t = b.add(tied, {x}),
             u = b.add(named("u"), {t});
  const auto g = b.build();
  for (const OpId id : {x, a}) CHECK_FALSE(g.trains(id));
  for (const OpId id : {w, c, t, u}) CHECK(g.trains(id));
  for (const OpId id : {x, a, w, t}) CHECK_FALSE(g.trains_above(id));
  for (const OpId id : {c, u}) CHECK(g.trains_above(id));
}

TEST_CASE("a cycle is named operator by operator") {
  GraphBuilder b("m");
  const OpId a = b.add(named("a")), c = b.add(named("c"), {a});
  b.add_edge(c, a);
  try {
    b.build();
    FAIL("accepted a cycle");
  } catch (const core::BadInput& e) {
    CHECK(std::string(e.what()) == "model m: the operators form a cycle: a -> c -> a");
  }
}

TEST_CASE("impossible operators are refused by name") {
  GraphBuilder twice("m");
  twice.add(named("a"));
  twice.add(named("a"));
  CHECK_THROWS_AS(twice.build(), core::BadInput);
  GraphBuilder negative("m");
  Operator op = named("a");
  op.output_bytes = core::Bytes(-1);
  negative.add(op);
  CHECK_THROWS_AS(negative.build(), core::BadInput);
  CHECK_THROWS_AS(GraphBuilder("m").build(), core::BadInput);
}
