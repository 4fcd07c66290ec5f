#include "penstock/graph/order.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "support/random_graph.hpp"

using namespace penstock;
using graph::Dag;
using graph::Edge;
using graph::Vertex;

namespace {

/// Slow twin: keeps an edge unless some vertex lies between its ends.
Dag reduction_by_definition(const Dag& dag) {
  const auto reach = test::reachability(dag);
  std::vector<Edge> kept;
  for (const auto& [u, w] : dag.edges()) {
    bool between = false;
    for (std::size_t v = 0; v < dag.size(); ++v) between |= reach[u][v] && reach[v][w];
    if (!between) kept.emplace_back(u, w);
  }
  return Dag(dag.size(), kept);
}

bool convex_by_definition(const Dag& dag, const std::vector<char>& in) {
  const auto reach = test::reachability(dag);
  for (std::size_t v = 0; v < dag.size(); ++v)
    for (std::size_t u = 0; u < v; ++u)
      for (std::size_t w = v + 1; w < dag.size(); ++w)
        if (in[u] && !in[v] && in[w] && reach[u][v] && reach[v][w]) return false;
  return true;
}

std::size_t count_downsets(const Dag& dag) {
  return graph::for_each_downset(dag, [](const std::vector<bool>&) { return true; });
}

Dag parallel_chains(int count, int length) {
  std::vector<Edge> edges;
  for (Vertex v = 0; v < count * (length - 1); ++v) edges.emplace_back(v, v + count);
  return Dag(static_cast<std::size_t>(count * length), edges);
}

/// 0 -> 1 -> ... -> n-1 with an edge from each i to n-1-i: skip connections, one inside the other.
Dag nested_skips(int n) {
  auto edges = test::chain(n).edges();
  for (Vertex v = 0; v < n / 2; ++v) edges.emplace_back(v, n - 1 - v);
  return Dag(static_cast<std::size_t>(n), edges);
}

}  // namespace

TEST_CASE("transitive reduction drops exactly the edges a longer path replaces") {
  //  0 -> 1 -> 2 -> 3, and 0 -> 2, 0 -> 3, 1 -> 3 are all shortcuts.
  const Dag dag(4, {{0, 1}, {1, 2}, {2, 3}, {0, 2}, {0, 3}, {1, 3}});
  CHECK(graph::transitive_reduction(dag).edges() == test::chain(4).edges());
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    core::Random random(seed);
    const Dag drawn = test::random_dag(random, random.between(1, 30), random.unit());
    CHECK(graph::transitive_reduction(drawn).edges() == reduction_by_definition(drawn).edges());
  }
}

TEST_CASE("transitive reduction of 100,000 nested skip connections leaves the chain") {
  CHECK(graph::transitive_reduction(nested_skips(100'000)).edge_count() == 99'999);
}

TEST_CASE("a set is convex when no path leaves it and returns") {
  const Dag dag(4, {{0, 1}, {1, 2}, {0, 3}});  // 0 -> 1 -> 2 and 0 -> 3
  CHECK_FALSE(graph::is_convex(dag, std::vector<Vertex>{0, 2}));
  CHECK(graph::is_convex(dag, std::vector<Vertex>{0, 1, 2}));
  CHECK(graph::is_convex(dag, std::vector<Vertex>{2, 3}));
  CHECK(graph::is_convex(dag, {}));
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    core::Random random(seed);
    const Dag drawn = test::random_dag(random, random.between(1, 12), 0.3);
    std::vector<char> in(drawn.size());
    std::vector<Vertex> set;
    for (std::size_t v = 0; v < in.size(); ++v)
      if ((in[v] = random.chance(0.5))) set.push_back(static_cast<Vertex>(v));
    CHECK(graph::is_convex(drawn, set) == convex_by_definition(drawn, in));
  }
}

TEST_CASE(
    "pairs of nested downsets are as many as there are one by one, on chains, antichains and at random") {
  const auto one_by_one = [](const Dag& dag) {
    std::vector<std::vector<bool>> all;
    graph::for_each_downset(dag, [&](const std::vector<bool>& downset) {
      all.push_back(downset);
      return true;
    });
    std::uint64_t pairs = 0;
    for (const auto& inner : all)
      for (const auto& outer : all) {
        bool inside = true;
        for (std::size_t v = 0; v < dag.size(); ++v) inside = inside && (!inner[v] || outer[v]);
        pairs += inside;
      }
    return pairs;
  };
  constexpr std::size_t kMany = 1'000'000;
  CHECK(graph::count_nested_downsets(test::chain(17), kMany) == 18 * 19 / 2);
  CHECK(graph::count_nested_downsets(Dag(5, {}), kMany) == 3 * 3 * 3 * 3 * 3);
  for (const int k : {2, 3})
    CHECK(graph::count_nested_downsets(parallel_chains(k, 4), kMany) == one_by_one(parallel_chains(k, 4)));
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    core::Random random(seed);
    const Dag dag = test::random_dag(random, random.between(1, 9), random.unit());
    CHECK(graph::count_nested_downsets(dag, kMany) == one_by_one(dag));
  }
  CHECK_FALSE(graph::count_nested_downsets(parallel_chains(8, 2), 1000));  // 3 to the 8 ways
  CHECK(graph::count_nested_downsets(Dag(60, {}), kMany) == std::numeric_limits<std::uint64_t>::max());
}

TEST_CASE("downsets: a chain of n has n + 1, k parallel chains have (n + 1) to the k") {
  CHECK(count_downsets(test::chain(1)) == 2);
  CHECK(count_downsets(test::chain(17)) == 18);
  for (int k = 1; k <= 4; ++k)
    CHECK(count_downsets(parallel_chains(k, 5)) == static_cast<std::size_t>(std::lround(std::pow(6, k))));
  const auto all = [](const std::vector<bool>&) { return true; };
  CHECK(graph::for_each_downset(test::chain(17), all, 18) == 18);
  CHECK(graph::for_each_downset(test::chain(17), all, 17) == 17);
  CHECK(graph::for_each_downset(test::chain(17), [](const std::vector<bool>& d) { return !d[2]; }) == 4);
}

TEST_CASE("the critical path is the heaviest, the smallest numbers first on a tie") {
  //      1 (5)
  //  0 <       > 3 (1)     1 + 5 + 1 = 7 beats 1 + 4 + 1 = 6
  //      2 (4)
  const Dag diamond(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}});
  const auto path = graph::critical_path(diamond, std::vector<double>{1, 5, 4, 1});
  CHECK(path.length == 7);
  CHECK(path.vertices == std::vector<Vertex>{0, 1, 3});
  CHECK(graph::critical_path(diamond, std::vector<double>{1, 4, 4, 1}).vertices ==
        std::vector<Vertex>{0, 1, 3});
  CHECK(graph::critical_path(diamond, std::vector<double>{1, 4, 4, 0}).length == 5);
}
