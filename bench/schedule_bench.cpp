// How fast grids are made and timed, on one core, with 64 ranks and 1024 micro-batches. A token is one cell
// of the grid. Goals: 20 million tokens/s for the orders written down directly (1f1b, interleaved, zbv), 1
// million for the searched v_half; simulate_grid 10 million.

#include <benchmark/benchmark.h>

#include "penstock/schedule/catalogue.hpp"
#include "penstock/sim/grid.hpp"

using namespace penstock;

namespace {

schedule::GridShape large() {
  schedule::GridShape shape;
  shape.ranks = 64, shape.micro_batches = 1024;
  return shape;
}

void count_tokens(benchmark::State& state, const schedule::Grid& grid) {
  std::size_t tokens = 0;
  for (const schedule::Row& row : grid.ranks) tokens += row.size();
  state.counters["tokens/s"] =
      benchmark::Counter(static_cast<double>(tokens), benchmark::Counter::kIsIterationInvariantRate);
}

void make(benchmark::State& state, const char* family, const char* goal) {
  for (auto _ : state) benchmark::DoNotOptimize(schedule::make_grid(family, large()));
  count_tokens(state, schedule::make_grid(family, large()));
  state.SetLabel(goal);
}
BENCHMARK_CAPTURE(make, 1f1b, "1f1b", "goal 20 M tokens/s")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(make, interleaved_1f1b, "interleaved_1f1b", "goal 20 M tokens/s")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(make, zbv, "zbv", "goal 20 M tokens/s")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(make, hanayo, "hanayo", "by policy; no goal")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(make, v_half, "v_half", "goal 1 M tokens/s")->Unit(benchmark::kMillisecond);

void simulate(benchmark::State& state, const char* family) {
  const schedule::Grid grid = schedule::make_grid(family, large());
  for (auto _ : state) benchmark::DoNotOptimize(sim::simulate_grid(grid, {}));
  count_tokens(state, grid);
  state.SetLabel("goal 10 M tokens/s");
}
BENCHMARK_CAPTURE(simulate, 1f1b, "1f1b")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate, interleaved_1f1b, "interleaved_1f1b")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate, zbv, "zbv")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate, v_half, "v_half")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate, bpipe, "bpipe")->Unit(benchmark::kMillisecond);

}  // namespace
