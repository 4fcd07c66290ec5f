// How fast a calibration answers. Goals are for one core of an ordinary server.

#include <benchmark/benchmark.h>

#include "penstock/cost/calibrated.hpp"
#include "penstock/cost/leave_one_out.hpp"
#include "penstock/graph/graph_builder.hpp"
#include "support/small_calibration.hpp"

using namespace penstock;
using namespace penstock::cost;
using graph::OpKind;

namespace {

graph::Attributes layer(std::int64_t channels) {
  const graph::Window window{
      .channels = channels, .image = {28, 28}, .kernel = {3, 3}, .stride = {1, 1}, .padding = {1, 1}};
  return graph::Convolution{window, 64};
}

/// 200 convolutions, three passes, eight batch sizes each: as many points as the zoo has.
Calibration calibration() {
  Calibration out = support::bare_calibration();
  for (std::int64_t channels = 2; channels <= 400; channels += 2) {
    MeasuredKernel kernel{
        {OpKind::convolution, graph::shape_of(layer(channels)), cluster::Precision::fp32}, {}, {}};
    for (core::Flops& flops : kernel.work.flops) flops = core::Flops(1e6 * static_cast<double>(channels));
    for (std::size_t pass = 0; pass < graph::kPasses; ++pass)
      for (std::int64_t n = 1; n <= 128; n *= 2)
        kernel.points.push_back(
            support::point(static_cast<graph::Pass>(pass), n, 1e-6 * static_cast<double>(n * channels)));
    out.kernels.push_back(kernel);
  }
  return out;
}

graph::OpGraph model(std::int64_t first) {
  graph::GraphBuilder builder("m");
  for (std::int64_t channels = first; channels <= 400; channels += 2) {
    graph::Operator op;
    op.name = std::to_string(channels);
    op.kind = OpKind::convolution;
    op.attributes = layer(channels);
    op.forward_flops = op.input_gradient_flops = op.weight_gradient_flops =
        core::Flops(1e6 * static_cast<double>(channels));
    builder.add(op);
  }
  return builder.build();
}

void rate(benchmark::State& state, const char* unit, double count, const char* goal) {
  state.counters[unit] = benchmark::Counter(count, benchmark::Counter::kIsIterationInvariantRate);
  state.SetLabel(goal);
}

/// Goal: 1 M operators/s, whether measured (even channels) or borrowed from neighbours (odd ones).
void op_time(benchmark::State& state) {
  const CalibratedCosts costs(calibration());
  const auto graph = model(state.range(0));
  for (auto _ : state)
    for (std::size_t i = 0; i < graph.size(); ++i)
      benchmark::DoNotOptimize(costs.op_time(graph, core::OpId(i), {}, 16));
  rate(state, "operators/s", static_cast<double>(graph.size()), "goal 1M operators/s");
}
BENCHMARK(op_time)->Arg(2)->Arg(3);

/// Goal: 5,000 points in half a second.
void load(benchmark::State& state) {
  const std::string text = to_yaml(calibration());
  for (auto _ : state) benchmark::DoNotOptimize(parse_calibration(text, "c.yaml"));
  rate(state, "points/s", 4800, "goal 10k points/s");
}
BENCHMARK(load)->Unit(benchmark::kMillisecond);

/// Goal: 5,000 points in a second.
void leave_one_out(benchmark::State& state) {
  const Calibration all = calibration();
  for (auto _ : state) benchmark::DoNotOptimize(cost::leave_one_out(all));
  rate(state, "points/s", 4800, "goal 5k points/s");
}
BENCHMARK(leave_one_out)->Unit(benchmark::kMillisecond);

}  // namespace
