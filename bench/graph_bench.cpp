// How fast the graph room takes orders apart. Goals are for one core of an ordinary server.

#include <benchmark/benchmark.h>

#include "penstock/graph/order.hpp"
#include "penstock/graph/series_parallel.hpp"
#include "penstock/graph/series_parallelize.hpp"
#include "support/random_graph.hpp"

using namespace penstock;
using graph::Dag;
using graph::Edge;
using graph::Vertex;

namespace {

Dag random_order(int n) {
  core::Random random(1);
  return test::random_series_parallel(random, n);
}

/// A chain with an edge from each of the first half to its mirror image: every search could be long.
Dag nested_skips(int n) {
  auto edges = test::chain(n).edges();
  for (Vertex v = 0; v < n / 2; ++v) edges.emplace_back(v, n - 1 - v);
  return Dag(static_cast<std::size_t>(n), edges);
}

void report(benchmark::State& state, const Dag& dag, const char* goal) {
  const auto rate = benchmark::Counter::kIsIterationInvariantRate;
  state.counters["vertices/s"] = benchmark::Counter(static_cast<double>(dag.size()), rate);
  state.counters["edges/s"] = benchmark::Counter(static_cast<double>(dag.edge_count()), rate);
  state.SetLabel(goal);
}

/// Goal: 100,000 vertices in 0.1 s, whatever the shape.
void decompose(benchmark::State& state, Dag (*draw)(int)) {
  const Dag dag = draw(static_cast<int>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(graph::decompose(dag));
  report(state, dag, "goal 1M vertices/s");
}
BENCHMARK_CAPTURE(decompose, random, random_order)->Arg(100'000)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(decompose, chain, test::chain)->Arg(100'000)->Unit(benchmark::kMillisecond);

/// Goal: 100,000 vertices in 0.1 s, whatever the shape.
void transitive_reduction(benchmark::State& state, Dag (*draw)(int)) {
  const Dag dag = draw(static_cast<int>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(graph::transitive_reduction(dag));
  report(state, dag, "goal 1M vertices/s");
}
BENCHMARK_CAPTURE(transitive_reduction, random, random_order)->Arg(100'000)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(transitive_reduction, nested_skips, nested_skips)
    ->Arg(100'000)
    ->Unit(benchmark::kMillisecond);

/// Goal: a network of 400 operators that is no series-parallel order, in 0.5 s with the default search.
void make_series_parallel(benchmark::State& state) {
  core::Random random(1);
  const Dag dag = test::random_braid(random, static_cast<int>(state.range(0)), 4);
  const auto weights = test::random_weights(random, dag.size());
  double increase = 0;
  for (auto _ : state) {
    const auto result = graph::make_series_parallel(dag, weights);
    increase = result.critical_path_after / result.critical_path_before - 1;
  }
  report(state, dag, "goal 800 vertices/s");
  state.counters["critical_path_increase"] = increase;
}
BENCHMARK(make_series_parallel)->Arg(400)->Unit(benchmark::kMillisecond);

}  // namespace
