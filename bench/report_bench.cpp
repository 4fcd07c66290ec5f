// Speed of writing traces and tables, on one core, bytes dropped. Goal for the native form of traces: a
// million spans in two seconds and 50 MB, with or without the load of links. Goal for a comparison: 100,000
// rows in two seconds, which a search through all rows for each row's baseline would miss by far.

#include <benchmark/benchmark.h>

#include "penstock/report/comparison.hpp"
#include "penstock/report/perfetto.hpp"
#include "penstock/report/track_event.hpp"
#include "support/drawn_trace.hpp"
#include "support/tiny.hpp"

using namespace penstock;

namespace {

trace::Trace pipeline(const benchmark::State& state) {
  return support::drawn_trace({.stages = static_cast<std::size_t>(state.range(0)),
                               .micro_batches = static_cast<std::int32_t>(state.range(1))});
}

void count(benchmark::State& state, const trace::Trace& trace, std::size_t bytes) {
  const auto spans = static_cast<double>(trace.spans.size());
  state.counters["spans/s"] = benchmark::Counter(spans, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["bytes/span"] = static_cast<double>(bytes) / spans;
}

void native(benchmark::State& state, bool links, const char* goal) {
  const trace::Trace trace = pipeline(state);
  const auto cluster = support::tiny_cluster(trace.devices.size());
  std::size_t bytes = 0;
  for (auto _ : state) {
    bytes = 0;
    report::write_track_events(trace, links ? &cluster : nullptr,
                               [&](std::string_view piece) { bytes += piece.size(); });
  }
  count(state, trace, bytes);
  state.SetLabel(goal);
}
BENCHMARK_CAPTURE(native, million, false, "goal 5e5 spans/s, 50 bytes/span")
    ->Args({8, 32768})
    ->Args({64, 4096})
    ->Args({1024, 256})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(native, links, true, "goal 5e5 spans/s, 50 bytes/span")
    ->Args({64, 4096})
    ->Unit(benchmark::kMillisecond);

/// The largest trace that JSON is meant for; no goal.
void json(benchmark::State& state) {
  const trace::Trace trace = pipeline(state);
  std::size_t bytes = 0;
  for (auto _ : state) bytes = report::to_perfetto_json(trace).size();
  count(state, trace, bytes);
}
BENCHMARK(json)->Args({32, 780})->Unit(benchmark::kMillisecond);

void comparison(benchmark::State& state) {
  std::vector<report::CellResult> rows(static_cast<std::size_t>(state.range(0)));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].model = "mmt";
    rows[i].planner = i % 2 == 0 ? "spp" : "graphpipe";
    rows[i].mini_batch = static_cast<std::int64_t>(i / 2 + 1);
    rows[i].samples_per_s = i % 2 == 0 ? 10 : 12;
  }
  for (auto _ : state) benchmark::DoNotOptimize(report::comparison(rows, "spp", false));
  state.counters["rows/s"] =
      benchmark::Counter(static_cast<double>(rows.size()), benchmark::Counter::kIsIterationInvariantRate);
  state.SetLabel("goal 5e4 rows/s");
}
BENCHMARK(comparison)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
