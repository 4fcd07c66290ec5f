// How fast schedules are made and timed, on one core, with 64 ranks and 1024 micro-batches. A token is one
// cell of the schedule. Goals: 20 million tokens/s for the orders written down directly (1f1b, interleaved,
// zbv), 1 million for the searched v_half; simulate_schedule 10 million.

#include <benchmark/benchmark.h>

#include "penstock/schedule/catalogue.hpp"
#include "penstock/sim/schedule_times.hpp"

using namespace penstock;

namespace {

schedule::ScheduleShape large() {
  schedule::ScheduleShape shape;
  shape.ranks = 64, shape.micro_batches = 1024;
  return shape;
}

void count_tokens(benchmark::State& state, const schedule::Schedule& schedule) {
  std::size_t tokens = 0;
  for (const schedule::RankOrder& row : schedule.ranks) tokens += row.size();
  state.counters["tokens/s"] =
      benchmark::Counter(static_cast<double>(tokens), benchmark::Counter::kIsIterationInvariantRate);
}

void make(benchmark::State& state, const char* family, const char* goal) {
  for (auto _ : state) benchmark::DoNotOptimize(schedule::make_schedule(family, large()));
  count_tokens(state, schedule::make_schedule(family, large()));
  state.SetLabel(goal);
}
BENCHMARK_CAPTURE(make, 1f1b, "1f1b", "goal 20 M tokens/s")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(make, interleaved_1f1b, "interleaved_1f1b", "goal 20 M tokens/s")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(make, zbv, "zbv", "goal 20 M tokens/s")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(make, hanayo, "hanayo", "by policy; no goal")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(make, v_half, "v_half", "goal 1 M tokens/s")->Unit(benchmark::kMillisecond);

void simulate(benchmark::State& state, const char* family) {
  const schedule::Schedule schedule = schedule::make_schedule(family, large());
  for (auto _ : state) benchmark::DoNotOptimize(sim::simulate_schedule(schedule, {}));
  count_tokens(state, schedule);
  state.SetLabel("goal 10 M tokens/s");
}
BENCHMARK_CAPTURE(simulate, 1f1b, "1f1b")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate, interleaved_1f1b, "interleaved_1f1b")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate, zbv, "zbv")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate, v_half, "v_half")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate, bpipe, "bpipe")->Unit(benchmark::kMillisecond);

}  // namespace
