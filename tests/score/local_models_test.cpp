#include "score/local_models.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "support/random_problem.hpp"

using namespace penstock;

namespace {

/// A product over 6 tokens, a mixture of 4 experts over as many, and an operator of which nothing is known.
graph::OpGraph mixture() {
  graph::GraphBuilder builder("mixture");
  graph::Operator product = support::unit_op("product", 1e9, 0);
  product.kind = graph::OpKind::linear;
  product.attributes = graph::Linear{.rows = 6, .in = 1, .out = 1};
  graph::Operator experts = support::unit_op("experts", 1e9, 0);
  experts.kind = graph::OpKind::experts;
  experts.attributes = graph::Experts{.rows = 6, .hidden = 1, .inner = 1, .experts = 4, .chosen = 1};
  builder.add(product), builder.add(experts), builder.add(support::unit_op("unknown", 1e9, 0));
  return builder.build();
}

}  // namespace

TEST_CASE("local models: 6 tokens over 1, 2 or 3 groups, 4 experts over 1, 2 or 4 devices") {
  std::vector<std::pair<int, int>> found;
  for (const auto& model : score::local_models(mixture(), 4, 4))
    found.emplace_back(model.context, model.experts);
  CHECK(found == std::vector<std::pair<int, int>>{
                     {1, 1}, {1, 2}, {1, 4}, {2, 1}, {2, 2}, {2, 4}, {3, 1}, {3, 2}, {3, 4}});
  CHECK(score::local_models(mixture(), 1, 1).size() == 1);
}

TEST_CASE("local models divide the operators that have tokens or experts to divide") {
  const graph::OpGraph graph = mixture();
  const auto models = score::local_models(graph, 2, 2);
  REQUIRE(models.size() == 4);
  const bool divided[4][3] = {
      {true, true, true}, {false, true, false}, {true, true, false}, {false, true, false}};
  for (std::size_t m = 0; m < 4; ++m)
    for (std::size_t op = 0; op < 3; ++op)
      CHECK(score::divides(graph, core::OpId(op), models[m]) == divided[m][op]);
}
