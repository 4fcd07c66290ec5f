// How fast planners search. Goals are for one core of an ordinary server; two cores halve the wall time.

#include <benchmark/benchmark.h>

#include "models/catalogue.hpp"
#include "penstock/core/random.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/planners/planner.hpp"
#include "penstock/score/least_iteration.hpp"
#include "penstock/score/order.hpp"
#include "penstock/sim/simulate.hpp"
#include "support/checkout.hpp"
#include "support/tiny.hpp"

using namespace penstock;

namespace {

const cost::AnalyticCosts kCosts;

void search(benchmark::State& state, const graph::OpGraph& graph, const cluster::Cluster& cluster,
            std::int64_t mini_batch, const char* planner, const char* goal) {
  const cost::Problem problem{graph, cluster, kCosts, {mini_batch, plan::Optimizer::sgd}};
  std::uint64_t rows = 0;
  for (auto _ : state) rows = planners::planner(planner).plan(problem, {}, {}).states;
  state.counters["rows/s"] =
      benchmark::Counter(static_cast<double>(rows), benchmark::Counter::kIsIterationInvariantRate);
  state.SetLabel(goal);
}

cluster::Cluster summit(int devices) {
  return cluster::load_cluster(support::checkout("/experiments/clusters/summit.yaml")).first(devices);
}

/// Goal: all micro-batch sizes on 32 devices under 0.1 s; 1 s for many blocks in series.
void zoo(benchmark::State& state, const char* model, const char* planner, const char* goal) {
  search(state, models::build(model, {}), summit(32), 512, planner, goal);
}
#define PENSTOCK_ZOO(model, planner, goal)                          \
  BENCHMARK_CAPTURE(zoo, model##_##planner, #model, #planner, goal) \
      ->Unit(benchmark::kMillisecond)                               \
      ->UseRealTime()
PENSTOCK_ZOO(mmt, graphpipe, "goal 0.1 s");
PENSTOCK_ZOO(mmt, spp, "goal 0.1 s");
PENSTOCK_ZOO(dlrm, graphpipe, "goal 0.1 s");
PENSTOCK_ZOO(candle_uno, graphpipe, "goal 0.1 s");
PENSTOCK_ZOO(encoder_decoder, graphpipe, "goal 1 s");
PENSTOCK_ZOO(resnet50, graphpipe, "goal 1 s");
PENSTOCK_ZOO(bert, graphpipe, "goal 1 s");
PENSTOCK_ZOO(inception_v3, graphpipe, "goal 1 s");

/// Goal: GPT of 48 layers on 32 devices, all micro-batch sizes, under 1 s.
void deep_gpt(benchmark::State& state) {
  search(state, models::build("gpt", {{"layers", "48"}}), summit(32), 512, "graphpipe", "goal 1 s");
}
BENCHMARK(deep_gpt)->Unit(benchmark::kMillisecond)->UseRealTime();

/// Rows of operators side by side between a source and a sink; one row: nothing else.
graph::OpGraph rows(int count, int length) {
  std::vector<std::pair<int, int>> edges;
  const int source = count * length, sink = source + 1;
  for (int v = 0; v < source; ++v) {
    if (v % length > 0) edges.emplace_back(v - 1, v);
    if (count > 1 && v % length == 0) edges.emplace_back(source, v);
    if (count > 1 && v % length == length - 1) edges.emplace_back(v, sink);
  }
  std::vector<double> work;
  core::Random random(1);
  const int size = count > 1 ? sink + 1 : source;
  for (int v = 0; v < size; ++v) work.push_back(1e9 * (1 + random.unit()));
  return support::tiny_graph(static_cast<std::size_t>(size), edges, work);
}

/// Goals: 1,000 operators in a row on 64 devices, all micro-batch sizes, under 2 s; two branches of 200 under
/// 2 s.
void chain(benchmark::State& state, int count, int length) {
  search(state, rows(count, length), support::tiny_cluster(64, std::int64_t{1} << 40, 1e10), 512, "graphpipe",
         "goal 2 s");
}
BENCHMARK_CAPTURE(chain, one_of_1000, 1, 1000)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(chain, two_of_200, 2, 200)->Unit(benchmark::kMillisecond)->UseRealTime();

/// A row like BERT with 1.3 G weights, tensors of 512 x 1024 numbers, spread over 1,000 operators.
graph::OpGraph bert_like_row() {
  graph::GraphBuilder builder("row");
  core::Random random(1);
  for (std::size_t v = 0; v < 1000; ++v) {
    graph::Operator op = support::unit_op("v" + std::to_string(v), 3e8 * (0.5 + random.unit()), 1'300'000);
    op.output_bytes = op.saved_bytes = core::Bytes(512 * 1024 * 4);
    builder.add(op);
    if (v > 0) builder.add_edge(core::OpId(v - 1), core::OpId(v));
  }
  return builder.build();
}

/// Goal: all micro-batch sizes on 64 devices in 8 nodes, under 10 s.
void row_of_1000(benchmark::State& state, const char* planner) {
  const auto cluster = cluster::load_cluster(support::checkout("/experiments/clusters/dgx_a100.yaml"));
  search(state, bert_like_row(), cluster, 128, planner, "goal 10 s");
}
BENCHMARK_CAPTURE(row_of_1000, dapple, "dapple")->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(row_of_1000, alpa_inter, "alpa_inter")->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(row_of_1000, spp_luo, "spp_luo")->Unit(benchmark::kMillisecond)->UseRealTime();

/// 512 nodes of eight devices.
cluster::Cluster large() {
  return cluster::parse_cluster(
      "name: large\n"
      "device_types:\n"
      "  a100: {memory: 80GiB, memory_bandwidth: 2039GB/s, multiprocessors: 108, launch_overhead: 5us, "
      "peak: {fp32: 19.5TFLOP/s}}\n"
      "nodes:\n"
      "  - {count: 512, device: a100, devices: 8, link: {bandwidth: 300GB/s, latency: 1us}, "
      "uplink: {bandwidth: 200GB/s, latency: 5us}}\n",
      "large");
}

/// GPT of 24 layers, candidates simulated as the command line does. The goals of planners that search little
/// are for 4,096 devices. The others' are their share of what `compare` may take with all planners on two
/// cores: 10 s on 64 devices and 30 s on 256.
void simulated(benchmark::State& state, const char* planner, int devices, const char* goal) {
  const graph::OpGraph graph = models::build("gpt", {{"layers", "24"}, {"hidden", "2048"}, {"heads", "16"}});
  const cluster::Cluster cluster = large().first(devices);
  const cost::Problem problem{graph, cluster, kCosts, {devices > 256 ? devices : 512, plan::Optimizer::sgd}};
  planners::SearchOptions options;
  options.evaluate = [&](const plan::Plan& plan) {
    return to_seconds(sim::simulate_time(problem, score::scheduled(problem, plan)));
  };
  options.at_least = [&](const plan::Plan& plan) {
    return score::least_iteration(problem, plan, score::ReductionTiming::closed_form);
  };
  std::uint64_t rows = 0;
  for (auto _ : state) rows = planners::planner(planner).plan(problem, options, {}).states;
  state.counters["rows/s"] =
      benchmark::Counter(static_cast<double>(rows), benchmark::Counter::kIsIterationInvariantRate);
  state.SetLabel(goal);
}
#define PENSTOCK_SIMULATED(planner, devices, goal)                           \
  BENCHMARK_CAPTURE(simulated, planner##_##devices, #planner, devices, goal) \
      ->Unit(benchmark::kMillisecond)                                        \
      ->UseRealTime()
PENSTOCK_SIMULATED(data_parallel, 4096, "goal 1 s");
PENSTOCK_SIMULATED(megatron, 4096, "goal 1 s");
PENSTOCK_SIMULATED(aceso, 64, "goal 2 s");
PENSTOCK_SIMULATED(dapple, 64, "goal 2 s");
PENSTOCK_SIMULATED(aceso, 256, "goal 8 s");
PENSTOCK_SIMULATED(spp_luo, 256, "goal 8 s");

/// A cluster file's network with its routes. Goal: 4,096 devices under 0.05 s.
void read_large(benchmark::State& state) {
  std::size_t devices = 0;
  for (auto _ : state) devices += large().size();
  state.counters["devices/s"] = benchmark::Counter(static_cast<double>(devices), benchmark::Counter::kIsRate);
  state.SetLabel("goal 0.05 s");
}
BENCHMARK(read_large)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
