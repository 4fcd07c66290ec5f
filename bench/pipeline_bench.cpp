// How fast orders for pipelines are made and bounded. Goals are for one core of an ordinary server.

#include <benchmark/benchmark.h>

#include "penstock/core/random.hpp"
#include "penstock/schedule/list_order.hpp"
#include "penstock/score/pipeline_bounds.hpp"

using namespace penstock;
using core::Picoseconds;
using schedule::ListRule;
using schedule::Pipeline;

namespace {

/// An uneven chain with transfers of up to half a pass; `room` 0 for no limit.
Pipeline chain(int stages, int micro_batches, int room) {
  core::Random random(1);
  Pipeline out;
  out.micro_batches = micro_batches;
  const auto time = [&](int low, int high) { return Picoseconds(random.between(low, high)); };
  for (int s = 0; s < stages; ++s) {
    out.stages.push_back({time(900, 1100), time(1800, 2200), room});
    if (s > 0) out.links.push_back({s - 1, s, time(0, 500), time(0, 500)});
  }
  return out;
}

double tasks(const Pipeline& pipeline) {
  return 2.0 * static_cast<double>(pipeline.stages.size() + pipeline.links.size()) * pipeline.micro_batches;
}

void rate(benchmark::State& state, double count, const char* goal) {
  state.counters["tasks/s"] = benchmark::Counter(count, benchmark::Counter::kIsIterationInvariantRate);
  state.SetLabel(goal);
}

void order(benchmark::State& state, ListRule rule, const char* goal) {
  const Pipeline pipeline = chain(64, 1024, static_cast<int>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(order_by(rule, pipeline));
  rate(state, tasks(pipeline), goal);
}
BENCHMARK_CAPTURE(order, cyclic, ListRule::cyclic, "goal 50M tasks/s")
    ->Arg(0)
    ->Arg(64)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(order, eager, ListRule::eager, "goal 8M tasks/s")
    ->Arg(0)
    ->Arg(64)
    ->Unit(benchmark::kMillisecond);

void execute(benchmark::State& state) {
  const Pipeline pipeline = chain(64, 1024, 0);
  const auto rows = order_by(ListRule::cyclic, pipeline);
  for (auto _ : state) benchmark::DoNotOptimize(execute(pipeline, rows));
  rate(state, tasks(pipeline), "goal 30M tasks/s");
}
BENCHMARK(execute)->Unit(benchmark::kMillisecond);

/// All three rules, each executed.
void best_of_three(benchmark::State& state) {
  const Pipeline pipeline = chain(64, 1024, 0);
  for (auto _ : state) benchmark::DoNotOptimize(list_order(pipeline));
  rate(state, 3 * tasks(pipeline), "goal 8M tasks/s");
}
BENCHMARK(best_of_three)->Unit(benchmark::kMillisecond);

/// Goal: bounds of 64 stages in 0.1 ms, memory included (one walk per stage with limited room).
void bounds(benchmark::State& state) {
  const Pipeline pipeline = chain(static_cast<int>(state.range(0)), 1024, static_cast<int>(state.range(1)));
  for (auto _ : state) benchmark::DoNotOptimize(score::pipeline_bounds(pipeline));
  state.SetLabel("goal 100 us for 64 stages");
}
BENCHMARK(bounds)->Args({8, 0})->Args({64, 0})->Args({64, 64})->Unit(benchmark::kMicrosecond);

}  // namespace
