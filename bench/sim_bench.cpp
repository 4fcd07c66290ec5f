// Speed of the simulator, task graph included, on one core. Goals: 0.15 us per task where transfers do not
// meet, 0.2 with every task's duration drawn. Where they share links 0.6, 1.2 and 4 us at about 14, 45 and
// 340 flows at a time. Also 6,000 simulations/s of 8 stages and 64 micro-batches; 100 bytes of memory per
// task.

#include <benchmark/benchmark.h>
#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "penstock/core/random.hpp"
#include "penstock/schedule/in_flight.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "penstock/sim/perturbation.hpp"
#include "penstock/sim/simulate.hpp"
#include "support/tiny.hpp"

using namespace penstock;

namespace {

std::size_t allocated = 0, most_allocated = 0;  // bytes; benchmarks run on one thread

}  // namespace

void* operator new(std::size_t size) {
  void* p = std::malloc(size);
  if (!p) throw std::bad_alloc();
  allocated += malloc_usable_size(p);
  most_allocated = std::max(most_allocated, allocated);
  return p;
}
void operator delete(void* p) noexcept {
  if (p) allocated -= malloc_usable_size(p);
  std::free(p);
}
void operator delete(void* p, std::size_t) noexcept {
  operator delete(p);
}

namespace {

/// 1 ms forward and 2 ms backward on a device of 1 TFLOP/s, in inverse proportion to its speed.
class SpeedCosts final : public cost::CostModel {
 public:
  cost::OpTime op_time(const graph::OpGraph&, core::OpId, const cluster::DeviceType& type,
                       std::int64_t) const override {
    const double slower = 1e12 / type.peak.front().value();
    return {core::Seconds(1e-3 * slower), core::Seconds(2e-3 * slower), core::Seconds(0)};
  }
};

/// 1F1B over a chain of stages, each on `replicas` devices of a node of its own, one sample per replica.
struct PipelineProblem {
  graph::OpGraph graph;
  cluster::Cluster cluster;
  SpeedCosts costs;
  plan::Plan plan;
  schedule::Schedule order;
  cost::Problem problem() const { return {graph, cluster, costs, plan.training}; }
};

graph::OpGraph chain(std::size_t stages, std::int64_t bytes) {
  graph::GraphBuilder builder("chain");
  for (std::size_t s = 0; s < stages; ++s) {
    graph::Operator op = support::unit_op("v" + std::to_string(s));
    op.output_bytes = core::Bytes(bytes);
    builder.add(op);
    if (s > 0) builder.add_edge(core::OpId(s - 1), core::OpId(s));
  }
  return builder.build();
}

/// Nodes with 50 GB/s each way to one switch; devices of speeds from 0.9 to 1.1 with 600 GB/s cables inside.
cluster::Cluster nodes(std::size_t count, std::size_t devices) {
  core::Random random(1);
  const std::size_t total = count * devices, core_switch = total + count;
  std::vector<cluster::DeviceType> types;
  std::vector<cluster::Device> all;
  std::vector<cluster::Link> links;
  const auto cable = [&](std::size_t a, std::size_t b, double bandwidth) {
    links.push_back({a, b, core::Bandwidth(bandwidth), core::Seconds(1e-6)});
    links.push_back({b, a, core::Bandwidth(bandwidth), core::Seconds(1e-6)});
  };
  for (std::size_t d = 0; d < total; ++d) {
    types.push_back({"d" + std::to_string(d),
                     core::Bytes(std::int64_t{1} << 40),
                     core::Bandwidth(1e15),
                     {core::FlopRate(1e12 * (0.9 + 0.2 * random.unit()))},
                     1,
                     core::Seconds(0)});
    all.push_back({d, static_cast<int>(d / devices)});
    cable(d, total + d / devices, 600e9);
  }
  for (std::size_t n = 0; n < count; ++n) cable(total + n, core_switch, 50e9);
  return cluster::Cluster("nodes", types, all, count + 1, links);
}

PipelineProblem pipeline(std::size_t stages, std::int64_t micro_batches, std::size_t replicas,
                         std::int64_t bytes) {
  PipelineProblem p{chain(stages, bytes),
                    replicas == 1 ? support::tiny_cluster(stages) : nodes(stages, replicas),
                    {},
                    {},
                    {}};
  const auto micro_batch = static_cast<std::int64_t>(replicas);
  p.plan.training.mini_batch = micro_batches * micro_batch;
  for (std::size_t s = 0; s < stages; ++s) {
    plan::Stage stage{{core::OpId(s)}, {}, micro_batch, 1, 0, {}};
    for (std::size_t r = 0; r < replicas; ++r) stage.devices.push_back(core::DeviceId(s * replicas + r));
    p.plan.stages.push_back(std::move(stage));
  }
  schedule::derive_in_flight(p.plan, plan::StageGraph(p.graph, p.plan));
  p.order = schedule::plan_order(p.plan);
  return p;
}

/// Transfers under way at a time, on average over the iteration.
double mean_flows(const trace::Trace& trace) {
  double moving = 0;
  for (const trace::Span& span : trace.spans)
    if (span.kind == trace::TaskKind::transfer)
      moving += static_cast<double>((span.end - span.start).value());
  return moving / static_cast<double>(trace.iteration.value());
}

template <class Run>
void measure(benchmark::State& state, const PipelineProblem& p, Run run) {
  const cost::Problem problem = p.problem();
  const auto tasks = static_cast<double>(sim::task_count(problem, {problem.graph, p.plan, p.order}));
  const std::size_t before = most_allocated = allocated;
  for (auto _ : state) run(problem, schedule::ScheduledPlan{problem.graph, p.plan, p.order});
  state.counters["bytes/task"] = static_cast<double>(most_allocated - before) / tasks;
  state.counters["tasks/s"] = benchmark::Counter(tasks, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["s/task"] =
      benchmark::Counter(tasks, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void measure(benchmark::State& state, const PipelineProblem& p, sim::NetworkModel network) {
  measure(state, p, [&](const cost::Problem& problem, const schedule::ScheduledPlan& scheduled) {
    benchmark::DoNotOptimize(sim::simulate_time(problem, scheduled, {network}));
  });
}

void uncontended(benchmark::State& state, const char* goal) {
  measure(state, pipeline(static_cast<std::size_t>(state.range(0)), state.range(1), 1, 1000),
          sim::NetworkModel::fifo);
  state.SetLabel(goal);
}
/// The benchmark with flows, each the only one on its links; no goal.
void alone(benchmark::State& state) {
  measure(state, pipeline(static_cast<std::size_t>(state.range(0)), state.range(1), 1, 1000),
          sim::NetworkModel::fair);
}
BENCHMARK(alone)->Args({8, 32768})->Args({1024, 256})->Unit(benchmark::kMillisecond);

BENCHMARK_CAPTURE(uncontended, small, "goal 6000 simulations/s")
    ->Args({8, 64})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(uncontended, million, "goal 0.15 us/task")
    ->Args({8, 32768})
    ->Args({64, 4096})
    ->Args({1024, 256})
    ->Unit(benchmark::kMillisecond);

/// The first of them under a perturbation: every task's duration drawn, stragglers on every device.
void perturbed(benchmark::State& state, const char* goal) {
  const PipelineProblem p = pipeline(8, 32768, 1, 1000);
  sim::Perturbation perturbation;
  for (const auto kind : {trace::TaskKind::forward, trace::TaskKind::backward, trace::TaskKind::transfer})
    perturbation.jitter[kind] = {sim::JitterDistribution::lognormal, 0.05, {}};
  for (std::size_t d = 0; d < 8; ++d)
    for (std::int64_t w = 0; w < 100; ++w)
      perturbation.stragglers.push_back({d,
                                         core::Picoseconds(w * 1'000'000'000'000),
                                         core::Picoseconds(w * 1'000'000'000'000 + 500'000'000'000),
                                         0.5,
                                         {}});
  const cost::Problem problem = p.problem();
  const auto tasks = static_cast<double>(sim::task_count(problem, {problem.graph, p.plan, p.order}));
  for (auto _ : state)
    benchmark::DoNotOptimize(sim::simulate_time(problem, {problem.graph, p.plan, p.order},
                                                {sim::NetworkModel::fifo, {}, &perturbation, 1}));
  state.counters["s/task"] =
      benchmark::Counter(tasks, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  state.SetLabel(goal);
}
BENCHMARK_CAPTURE(perturbed, jitter, "goal 0.2 us/task")->Unit(benchmark::kMillisecond);

void contended(benchmark::State& state, const char* goal) {
  const PipelineProblem p =
      pipeline(8, state.range(0), static_cast<std::size_t>(state.range(1)), state.range(2) * 1'000'000);
  measure(state, p, sim::NetworkModel::fair);
  state.counters["flows"] =
      mean_flows(sim::simulate(p.problem(), {p.problem().graph, p.plan, p.order}, {sim::NetworkModel::fair}));
  state.SetLabel(goal);
}
BENCHMARK_CAPTURE(contended, few, "goal 0.6 us/task")->Args({512, 8, 8})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(contended, some, "goal 1.2 us/task")->Args({512, 8, 40})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(contended, many, "goal 4 us/task")->Args({512, 64, 5})->Unit(benchmark::kMillisecond);

void traced(benchmark::State& state) {
  const PipelineProblem p = pipeline(static_cast<std::size_t>(state.range(0)), state.range(1), 1, 1000);
  const cost::Problem problem = p.problem();
  for (auto _ : state) benchmark::DoNotOptimize(sim::simulate(problem, {problem.graph, p.plan, p.order}));
  state.counters["tasks/s"] =
      benchmark::Counter(static_cast<double>(sim::task_count(problem, {problem.graph, p.plan, p.order})),
                         benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(traced)->Args({8, 4096})->Args({64, 1024})->Unit(benchmark::kMillisecond);

/// Ten million passes with their messages, 18.75 million tasks, are to fit in 1.5 GB, order included.
void summarised(benchmark::State& state) {
  const PipelineProblem p = pipeline(static_cast<std::size_t>(state.range(0)), state.range(1), 1, 1000);
  measure(state, p, [](const cost::Problem& problem, const schedule::ScheduledPlan& scheduled) {
    benchmark::DoNotOptimize(sim::simulate_summary(problem, scheduled));
  });
  state.SetLabel("goal 80 bytes/task");
}
BENCHMARK(summarised)->Args({8, 4096})->Args({64, 1024})->Unit(benchmark::kMillisecond);

}  // namespace
