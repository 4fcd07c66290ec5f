// How fast the host computes, per pass. Goals are for one core of an ordinary server with AVX-512, which
// peaks at about 200 GFLOP/s in fp32.

#include <benchmark/benchmark.h>

#include "kernels/trial.hpp"
#include "models/layers.hpp"
#include "penstock/kernels/devices.hpp"

using namespace penstock;
using models::Layers;

namespace {

/// The last operator of a net of one layer and its inputs.
graph::Operator last(const Layers& net) {
  return net.build().operators().back();
}

graph::Operator dense() {
  Layers net("bench");
  net.linear("dense", net.input("x", {256, 1024}), 1024);
  return last(net);
}

graph::Operator convolution() {
  Layers net("bench");
  net.conv2d("convolution", net.input("x", {64, 56, 56}), 64, {{3, 3}, {1, 1}, {1, 1}});
  return last(net);
}

graph::Operator attention() {
  Layers net("bench");
  const auto x = net.input("x", {256, 1024});
  net.attention("attention", x, x, x, 16);
  return last(net);
}

graph::Operator norm() {
  Layers net("bench");
  net.layer_norm("norm", net.input("x", {1024, 768}));
  return last(net);
}

/// `work`: of one pass and sample, in units counted as `unit`/s.
void run(benchmark::State& state, const graph::Operator& op, graph::Pass pass, double work, const char* unit,
         const char* goal) {
  const auto host = kernels::open_device("host", 1);
  test::KernelTrial trial(*host, op, 1, kernels::Precision::fp32, 1);
  trial.run_all();
  for (auto _ : state) trial.run(pass);
  state.counters[unit] = benchmark::Counter(work, benchmark::Counter::kIsIterationInvariantRate);
  state.SetLabel(goal);
}

void product(benchmark::State& state, graph::Operator (*make)(), graph::Pass pass) {
  const graph::Operator op = make();  // of dense layers and convolutions, every pass costs as much
  run(state, op, pass, op.forward_flops.value(), "FLOP/s", "goal 100 GFLOP/s on one core");
}
BENCHMARK_CAPTURE(product, dense_forward, dense, graph::Pass::forward);
BENCHMARK_CAPTURE(product, dense_input_gradient, dense, graph::Pass::input_gradient);
BENCHMARK_CAPTURE(product, dense_weight_gradient, dense, graph::Pass::weight_gradient);
BENCHMARK_CAPTURE(product, convolution_forward, convolution, graph::Pass::forward);
BENCHMARK_CAPTURE(product, convolution_input_gradient, convolution, graph::Pass::input_gradient);
BENCHMARK_CAPTURE(product, convolution_weight_gradient, convolution, graph::Pass::weight_gradient);
BENCHMARK_CAPTURE(product, attention_forward, attention, graph::Pass::forward);

/// 1024 rows of 768 in fp32, read and written once.
void moved(benchmark::State& state, graph::Pass pass) {
  run(state, norm(), pass, 2.0 * 4 * 1024 * 768, "B/s", "goal 20 GB/s on one core");
}
BENCHMARK_CAPTURE(moved, norm_forward, graph::Pass::forward);

}  // namespace
