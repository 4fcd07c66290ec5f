#include "penstock/graph/series_parallelize.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>
#include <map>
#include <set>

#include "penstock/core/error.hpp"
#include "penstock/graph/order.hpp"
#include "support/random_graph.hpp"

using namespace penstock;
using graph::CutSearch;
using graph::Dag;
using graph::Edge;
using graph::Vertex;

namespace {

constexpr CutSearch kEstimatesAlone{.exact_cuts = 0};

/// Slow twin: every labelled series-parallel order on up to six vertices, bit 6u+w for u before w. Built from
/// the definition by joining every order on a subset with every order on the rest (51,303 of them on six).
class AllOrders {
 public:
  using Order = std::uint64_t;

  const std::set<Order>& on(unsigned subset) {
    auto [place, fresh] = known_.try_emplace(subset);
    if (!fresh) return place->second;
    std::set<Order>& orders = place->second;
    if (std::has_single_bit(subset)) orders.insert(0);
    for (unsigned first = (subset - 1) & subset; first != 0; first = (first - 1) & subset)
      for (Order a : on(first))
        for (Order b : on(subset & ~first)) {
          orders.insert(a | b);
          orders.insert(a | b | all_before(first, subset & ~first));
        }
    return orders;
  }

  /// The shortest critical path of any series-parallel order that contains the given one.
  double optimum(const Dag& dag, const std::vector<double>& weights) {
    Order given = 0;
    const auto reach = test::reachability(dag);
    for (unsigned u = 0; u < dag.size(); ++u)
      for (unsigned w = 0; w < dag.size(); ++w) given |= static_cast<Order>(reach[u][w]) << (6 * u + w);
    double best = std::numeric_limits<double>::infinity();
    for (Order order : on((1u << dag.size()) - 1))
      if ((order & given) == given) best = std::min(best, longest_chain(order, weights));
    return best;
  }

 private:
  static Order all_before(unsigned first, unsigned then) {
    Order order = 0;
    for (unsigned u = 0; u < 6; ++u)
      if (first >> u & 1) order |= static_cast<Order>(then) << (6 * u);
    return order;
  }

  /// Chains grow from the vertices with the most before them backwards: longest from u over all that follow
  /// u.
  static double longest_chain(Order order, const std::vector<double>& weights) {
    std::vector<unsigned> by_followers(weights.size());
    for (unsigned u = 0; u < by_followers.size(); ++u) by_followers[u] = u;
    const auto followers = [&](unsigned u) { return static_cast<unsigned>(order >> (6 * u) & 63); };
    std::sort(by_followers.begin(), by_followers.end(), [&](unsigned a, unsigned b) {
      return std::popcount(followers(a)) < std::popcount(followers(b));
    });
    std::vector<double> from(weights);
    for (unsigned u : by_followers)
      for (unsigned w = 0; w < weights.size(); ++w)
        if (followers(u) >> w & 1) from[u] = std::max(from[u], weights[u] + from[w]);
    return *std::max_element(from.begin(), from.end());
  }

  std::map<unsigned, std::set<Order>> known_;
};

/// The promises that hold for every graph and every setting.
void check_sound(const Dag& dag, const std::vector<double>& weights, const graph::SpResult& result) {
  std::vector<Vertex> place(dag.size());
  std::vector<double> placed_weights(dag.size());
  for (std::size_t i = 0; i < dag.size(); ++i) {
    place[result.order[i]] = static_cast<Vertex>(i);
    placed_weights[i] = weights[result.order[i]];
  }
  std::vector<Edge> edges = dag.edges(), tree_edges = graph::covering_edges(result.tree);
  edges.insert(edges.end(), result.added.begin(), result.added.end());
  for (auto* list : {&edges, &tree_edges})
    for (auto& [from, to] : *list) from = place[from], to = place[to];
  CHECK(result.dag.edges() == Dag(dag.size(), edges).edges());
  CHECK(test::reachability(result.dag) == test::reachability(Dag(dag.size(), tree_edges)));
  CHECK(graph::decompose(result.dag).has_value());
  CHECK(result.critical_path_before == graph::critical_path(dag, weights).length);
  CHECK(result.critical_path_after == graph::critical_path(result.dag, placed_weights).length);
  CHECK(result.critical_path_after >= result.critical_path_before);
  CHECK(result.added.empty() == graph::decompose(dag).has_value());
}

}  // namespace

TEST_CASE("the N: the cheapest of its cuts is taken") {
  //  0   1    0 -> 2, 1 -> 2, 1 -> 3, weights 2 2 5 6: the heaviest path is 1 -> 3 with 8.
  //  | / |    Both before both costs max(2, 2) + max(5, 6) = 8: one edge 0 -> 3 and nothing is lost.
  //  2   3
  const Dag n(4, {{0, 2}, {1, 2}, {1, 3}});
  const auto free = graph::make_series_parallel(n, std::vector<double>{2, 2, 5, 6});
  CHECK(free.added == std::vector<Edge>{{0, 3}});
  CHECK(free.critical_path_after == 8);
  // With weights 6 1 5 9, 1 first costs 1 + max(6 + 5, 9) = 12; both before both would cost 6 + 9.
  const auto early = graph::make_series_parallel(n, std::vector<double>{6, 1, 5, 9});
  CHECK(early.added == std::vector<Edge>{{1, 0}});
  CHECK(early.critical_path_before == 11);
  CHECK(early.critical_path_after == 12);
  CHECK(early.order == std::vector<Vertex>{1, 0, 2, 3});
}

TEST_CASE("series-parallel orders stay as they are") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    core::Random random(seed);
    const Dag dag = test::random_series_parallel(random, random.between(1, 40));
    const auto result = graph::make_series_parallel(dag, test::random_weights(random, dag.size()));
    CHECK(result.added.empty());
    CHECK(result.dag.edges() == dag.edges());
    CHECK(result.critical_path_after == result.critical_path_before);
  }
}

TEST_CASE("random orders keep their order and become series-parallel, exact or estimated") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    core::Random random(seed);
    const int n = random.between(1, 40);
    const Dag dag =
        seed % 2 ? test::random_dag(random, n, 0.3 * random.unit()) : test::random_braid(random, n, 3);
    const auto weights = test::random_weights(random, dag.size(), seed % 5 == 0 ? 0 : 1);
    const CutSearch quick{.exact_cuts = 3000};
    const auto result = graph::make_series_parallel(dag, weights, quick);
    check_sound(dag, weights, result);
    check_sound(dag, weights, graph::make_series_parallel(dag, weights, kEstimatesAlone));
    check_sound(dag, weights, graph::make_series_parallel(dag, weights, {0, 0}));
    CHECK(graph::make_series_parallel(dag, weights, quick).added == result.added);  // same answer, always
  }
}

TEST_CASE("weights are finite and not negative") {
  for (double bad : {-1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
    CHECK_THROWS_AS(graph::make_series_parallel(Dag(2, {}), std::vector<double>{1, bad}), core::Error);
}

TEST_CASE("a stopped search looks for no cut") {
  const std::atomic<bool> stop{true};
  const Dag n(4, {{0, 2}, {0, 3}, {1, 3}});
  const std::vector<double> weights(4, 1.0);
  CHECK_THROWS_AS(graph::make_series_parallel(n, weights, {}, core::StopToken(&stop)), core::Interrupted);
  CHECK(graph::make_series_parallel(n, weights).added.size() == 1);
}

TEST_CASE("a graph without weight is still made series-parallel") {
  const Dag dag(8, {{0, 2}, {1, 2}, {1, 3}, {2, 4}, {3, 4}, {3, 5}, {0, 6}, {4, 7}});
  const std::vector<double> nothing(8, 0);
  check_sound(dag, nothing, graph::make_series_parallel(dag, nothing));
  check_sound(dag, nothing, graph::make_series_parallel(dag, nothing, {0, 0}));
}

TEST_CASE("up to six vertices the exact search meets the optimum over all series-parallel orders") {
  AllOrders all;
  CHECK(all.on(0b11111).size() == 2791);  // A053554: 1, 3, 19, 195, 2791, 51303
  int not_series_parallel = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    core::Random random(seed);
    const Dag dag = test::random_dag(random, seed < 250 ? 5 : 6, 0.2 + 0.4 * random.unit());
    const auto weights = test::random_weights(random, dag.size());
    const auto result = graph::make_series_parallel(dag, weights);
    CHECK(result.critical_path_after == all.optimum(dag, weights));
    not_series_parallel += !result.added.empty();
  }
  CHECK(not_series_parallel > 30);
}

TEST_CASE("estimates without exact cuts come close to the optimum") {
  int graphs = 0, optimal = 0;
  double excess = 0, worst = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    core::Random random(seed);
    const Dag dag = seed % 2 ? test::random_dag(random, 14, 0.15 + 0.3 * random.unit())
                             : test::random_braid(random, 14, 3);
    const auto weights = test::random_weights(random, dag.size());
    const auto exact = graph::make_series_parallel(dag, weights, {.exact_cuts = 10'000'000});
    const auto estimated = graph::make_series_parallel(dag, weights, kEstimatesAlone);
    if (exact.added.empty()) continue;
    const double more = estimated.critical_path_after / exact.critical_path_after - 1;
    ++graphs, optimal += more == 0, excess += more, worst = std::max(worst, more);
  }
  INFO(optimal << " of " << graphs << " optimal, mean excess " << excess / graphs << ", worst " << worst);
  CHECK(graphs > 250);
  CHECK(optimal >= graphs * 98 / 100);
  CHECK(excess / graphs < 0.001);
  CHECK(worst < 0.1);
}

TEST_CASE("three thousand vertices that are no series-parallel order") {
  core::Random random(1);
  const Dag dag = test::random_braid(random, 3'000, 4);
  const auto weights = test::random_weights(random, dag.size());
  const auto result = graph::make_series_parallel(dag, weights, {.exact_cuts = 1000, .trials = 2});
  CHECK(graph::decompose(result.dag).has_value());
  CHECK(result.critical_path_after < 1.1 * result.critical_path_before);
}
