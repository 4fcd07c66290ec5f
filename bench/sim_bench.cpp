// How fast the simulator runs, task graph included. Goals are for one core of an ordinary server.

#include <benchmark/benchmark.h>

#include "penstock/schedule/in_flight.hpp"
#include "penstock/sim/simulate.hpp"
#include "support/fixed_costs.hpp"
#include "support/tiny.hpp"

using namespace penstock;

namespace {

/// 1F1B over a chain of stages with transfers; goal 0.5 us per task: 2M tasks/s.
void chain(benchmark::State& state, bool traced) {
  const auto stages = static_cast<std::size_t>(state.range(0));
  std::vector<std::pair<int, int>> edges;
  for (std::size_t s = 0; s + 1 < stages; ++s) edges.emplace_back(static_cast<int>(s), static_cast<int>(s) + 1);
  const auto graph = support::tiny_graph(stages, edges);
  const auto cluster = support::tiny_cluster(stages, std::int64_t{1} << 40, 1e4);
  const auto costs = support::FixedCosts::uniform(stages, 1, 2);
  plan::Plan plan;
  plan.training.mini_batch = state.range(1);
  for (std::size_t s = 0; s < stages; ++s) plan.stages.push_back({{core::OpId(s)}, {core::DeviceId(s)}, 1, 1, 0, {}});
  schedule::derive_in_flight(plan, plan::StageGraph(graph, plan));
  const cost::Problem problem{graph, cluster, costs, plan.training};
  const auto order = schedule::task_order(plan);
  for (auto _ : state) {
    if (traced)
      benchmark::DoNotOptimize(sim::simulate(problem, plan, order));
    else
      benchmark::DoNotOptimize(sim::simulate_time(problem, plan, order));
  }
  state.counters["tasks/s"] = benchmark::Counter(static_cast<double>(sim::task_count(problem, plan, order)),
                                                 benchmark::Counter::kIsIterationInvariantRate);
  state.SetLabel(traced ? "with trace" : "goal 2M tasks/s");
}
BENCHMARK_CAPTURE(chain, time, false)->Args({8, 64})->Args({8, 4096})->Args({64, 1024})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(chain, trace, true)->Args({8, 4096})->Args({64, 1024})->Unit(benchmark::kMillisecond);

}  // namespace
