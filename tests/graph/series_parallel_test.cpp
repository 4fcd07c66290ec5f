#include "penstock/graph/series_parallel.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "support/random_graph.hpp"

using namespace penstock;
using graph::Dag;
using graph::Edge;
using graph::SpTree;
using graph::Vertex;
using Kind = SpTree::Kind;

namespace {

/// "(0 (1 | 2) 3)": series by blanks, parallel by bars.
std::string drawn(const SpTree& tree, int i) {
  if (tree.node(i).kind == Kind::leaf) return std::to_string(tree.node(i).vertex);
  std::string text;
  for (int child : tree.children_of(i))
    text += (text.empty() ? "(" : tree.node(i).kind == Kind::series ? " " : " | ") + drawn(tree, child);
  return text + ")";
}

std::string drawn(const Dag& dag) {
  const auto tree = graph::decompose(dag);
  return tree ? drawn(*tree, tree->root) : "none";
}

/// Slow twin: an order is series-parallel when it has no N: a < c, b < c, b < d and nothing else among them.
bool free_of_n(const Dag& dag) {
  const auto less = test::reachability(dag);
  const std::size_t n = dag.size();
  const auto apart = [&](std::size_t u, std::size_t w) { return u != w && !less[u][w] && !less[w][u]; };
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < n; ++b)
      for (std::size_t c = 0; c < n; ++c)
        for (std::size_t d = 0; d < n; ++d)
          if (less[a][c] && less[b][c] && less[b][d] && apart(a, b) && apart(c, d) && apart(a, d))
            return false;
  return true;
}

/// The promises of the canonical form.
void check_shape(const SpTree& tree) {
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    const auto& node = tree.nodes[i];
    const auto below = tree.children_of(static_cast<int>(i));
    CHECK(
        (node.kind == Kind::leaf ? below.empty() && node.vertex >= 0 : below.size() >= 2 && node.vertex < 0));
    Vertex last = -1;
    for (int child : below) {
      CHECK(child > static_cast<int>(i));
      CHECK(tree.node(child).kind != node.kind);
      const auto leaves = tree.leaves(child);
      const Vertex smallest = *std::min_element(leaves.begin(), leaves.end());
      CHECK(smallest > last);
      last = smallest;
    }
  }
}

void check_exact(const Dag& dag, const SpTree& tree) {
  check_shape(tree);
  CHECK(test::reachability(Dag(dag.size(), graph::covering_edges(tree))) == test::reachability(dag));
}

/// k -> k+1 -> ..., each followed by a vertex beside the rest: nesting as deep as the graph is large.
Dag deep_nest(int depth) {
  std::vector<Edge> edges;
  for (Vertex k = 0; k + 1 < depth; ++k) {
    edges.emplace_back(2 * k, 2 * k + 1);
    edges.emplace_back(2 * k, 2 * k + 2);
  }
  return Dag(static_cast<std::size_t>(2 * depth), edges);
}

}  // namespace

TEST_CASE("small orders and their trees") {
  CHECK(drawn(Dag(1, {})) == "0");
  CHECK(drawn(Dag(3, {})) == "(0 | 1 | 2)");
  CHECK(drawn(test::chain(4)) == "(0 1 2 3)");
  CHECK(drawn(Dag(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}})) == "(0 (1 | 2) 3)");
  CHECK(drawn(Dag(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {0, 3}})) == "(0 (1 | 2) 3)");  // a transitive edge
  CHECK(drawn(Dag(5, {{0, 2}, {1, 2}, {2, 3}, {2, 4}})) == "((0 | 1) 2 (3 | 4))");  // many sources and sinks
  CHECK(drawn(Dag(4, {{0, 3}, {1, 2}})) == "((0 3) | (1 2))");
}

TEST_CASE("the N is the smallest order that is not series-parallel") {
  //  0   1
  //  | / |      0 -> 2, 1 -> 2, 1 -> 3
  //  2   3
  CHECK(drawn(Dag(4, {{0, 2}, {1, 2}, {1, 3}})) == "none");
  CHECK(drawn(Dag(4, {{0, 2}, {1, 2}, {1, 3}, {0, 3}})) == "((0 | 1) (2 | 3))");
  CHECK(drawn(Dag(5, {{0, 2}, {1, 2}, {1, 3}, {2, 4}})) == "none");
}

TEST_CASE("leaves of a node are in depth-first order") {
  const auto tree = graph::decompose(Dag(5, {{0, 1}, {1, 3}, {0, 2}, {2, 4}, {3, 4}}));
  CHECK(drawn(*tree, tree->root) == "(0 ((1 3) | 2) 4)");
  CHECK(tree->leaves(tree->root) == std::vector<Vertex>{0, 1, 3, 2, 4});
}

TEST_CASE("random series-parallel orders: the tree means exactly the order") {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    core::Random random(seed);
    const Dag dag = test::random_series_parallel(random, random.between(1, 40), 0.2 + 0.6 * random.unit());
    auto edges = dag.edges();
    const auto reach = test::reachability(dag);  // transitive edges must not matter
    for (Vertex u = 0; static_cast<std::size_t>(u) < dag.size(); ++u)
      for (Vertex w = u + 1; static_cast<std::size_t>(w) < dag.size(); ++w)
        if (reach[u][w] && random.chance(0.2)) edges.emplace_back(u, w);
    const auto tree = graph::decompose(Dag(dag.size(), edges));
    REQUIRE(tree);
    check_exact(dag, *tree);
  }
}

TEST_CASE("random orders: a tree exists exactly when there is no N") {
  int yes = 0, no = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    core::Random random(seed);
    const Dag dag = test::random_dag(random, random.between(1, 9), random.unit());
    const auto tree = graph::decompose(dag);
    CHECK(tree.has_value() == free_of_n(dag));
    if (tree) check_exact(dag, *tree);
    ++(tree ? yes : no);
  }
  CHECK(std::min(yes, no) > 300);  // both answers are well tried
}

TEST_CASE("100,000 vertices: a chain, a wide fork, a nesting as deep as the graph") {
  CHECK(graph::decompose(test::chain(100'000))->node(0).child_count == 100'000);
  CHECK(graph::decompose(Dag(100'000, {}))->node(0).child_count == 100'000);
  const auto deep = graph::decompose(deep_nest(50'000));
  REQUIRE(deep);
  CHECK(deep->leaves(deep->root).size() == 100'000);
  const std::vector<double> ones(100'000, 1);
  CHECK(graph::critical_length(*deep, ones) == 50'000);
}
