// How fast planners search. Goals are for one core of an ordinary server; two cores halve the wall time.

#include <benchmark/benchmark.h>

#include "models/catalogue.hpp"
#include "penstock/core/random.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/planners/planner.hpp"
#include "support/tiny.hpp"

using namespace penstock;

namespace {

const cost::AnalyticCosts kCosts;

void search(benchmark::State& state, const graph::OpGraph& graph, const cluster::Cluster& cluster,
            std::int64_t mini_batch, const char* planner, const char* goal) {
  const cost::Problem problem{graph, cluster, kCosts, {mini_batch, plan::Optimizer::sgd}};
  std::uint64_t rows = 0;
  for (auto _ : state) rows = planners::planner(planner).plan(problem, {}, {}).states;
  state.counters["rows/s"] = benchmark::Counter(static_cast<double>(rows), benchmark::Counter::kIsIterationInvariantRate);
  state.SetLabel(goal);
}

cluster::Cluster summit(int devices) {
  return cluster::load_cluster(PENSTOCK_SOURCE "/experiments/clusters/summit.yaml").first(devices);
}

/// Goal: all micro-batch sizes on 32 devices under 0.3 s.
void zoo(benchmark::State& state, const char* model, const char* planner) {
  search(state, models::build(model, {}), summit(32), 512, planner, "goal 0.3 s");
}
BENCHMARK_CAPTURE(zoo, mmt_graphpipe, "mmt", "graphpipe")->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(zoo, mmt_spp, "mmt", "spp")->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(zoo, dlrm_graphpipe, "dlrm", "graphpipe")->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(zoo, candle_uno_graphpipe, "candle_uno", "graphpipe")->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(zoo, inception_graphpipe, "inception_v3", "graphpipe")->Unit(benchmark::kMillisecond)->UseRealTime();

/// Goal: a chain of 1,000 operators on 64 devices, all micro-batch sizes, under 2 s.
void chain(benchmark::State& state) {
  std::vector<std::pair<int, int>> edges;
  std::vector<double> work;
  core::Random random(1);
  for (int v = 0; v < 1000; ++v) {
    if (v > 0) edges.emplace_back(v - 1, v);
    work.push_back(1e9 * (1 + random.unit()));
  }
  search(state, support::tiny_graph(1000, edges, work), support::tiny_cluster(64, std::int64_t{1} << 40, 1e10), 512,
         "graphpipe", "goal 2 s");
}
BENCHMARK(chain)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
