// Speed of the simulator, task graph included, on one core. Goals: 0.15 us per task where transfers do not
// meet, 0.2 with every task's duration drawn. Where they share links 0.6, 1.2 and 4 us at about 14, 45 and
// 340 flows at a time. Also 6,000 simulations/s of 8 stages and 64 micro-batches; 100 bytes of memory per
// task.

#include <benchmark/benchmark.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <new>

#include "penstock/core/random.hpp"
#include "penstock/schedule/in_flight.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "penstock/sim/perturbation.hpp"
#include "penstock/sim/simulate.hpp"
#include "steady/steady_time.hpp"
#include "support/tiny.hpp"
#include "tasks/prepare.hpp"

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

/// Simulates event by event, where simulate_time may skip periods.
core::Picoseconds full_time(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                            const sim::SimulationOptions& options = {}) {
  const sim::AbridgedPlan run = sim::abridged(problem, scheduled, options);
  return sim::time_of(run.plan, run.iteration, options);
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
    benchmark::DoNotOptimize(full_time(problem, scheduled, {network}));
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

/// Processor time of a call.
template <class Call>
double ticks_of(Call call) {
  const std::clock_t begin = std::clock();
  benchmark::DoNotOptimize(call());
  return static_cast<double>(std::clock() - begin);
}

/// Reports how many times faster simulate_time is than full_time, which must agree.
void compare_to_full(benchmark::State& state, const cost::Problem& problem,
                     const schedule::ScheduledPlan& scheduled) {
  if (sim::simulate_time(problem, scheduled) != full_time(problem, scheduled))
    return state.SkipWithError("simulate_time differs from the full run");
  const double full = ticks_of([&] { return full_time(problem, scheduled); });
  state.counters["faster"] = full / ticks_of([&] { return sim::simulate_time(problem, scheduled); });
  for (auto _ : state) benchmark::DoNotOptimize(sim::simulate_time(problem, scheduled));
}

/// Iterations on 64 devices whose periods are skipped (sim/steady); the order is given. `uneven`: devices of
/// different speeds.
void steady(benchmark::State& state, const char* family, std::size_t chunks, bool uneven) {
  PipelineProblem p = pipeline(64 * chunks, 256, 1, 1000);
  if (uneven) p.cluster = nodes(64, 1);
  p.plan.schedule = family;
  p.plan.training.mini_batch = state.range(0);
  for (std::size_t s = 0; s < p.plan.stages.size(); ++s) {
    p.plan.stages[s].devices = {core::DeviceId(s % 64)};
    p.plan.stages[s].in_flight = 0;
  }
  schedule::derive_in_flight(p.plan, plan::StageGraph(p.graph, p.plan));
  compare_to_full(state, p.problem(), {p.graph, p.plan});
  state.SetLabel("goal 50 times faster than event by event");
}
BENCHMARK_CAPTURE(steady, 1f1b, "1f1b", 1, false)->Arg(65536)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(steady, interleaved, "interleaved_1f1b", 2, false)
    ->Arg(65536)
    ->Unit(benchmark::kMillisecond);

BENCHMARK_CAPTURE(steady, uneven, "1f1b", 1, true)->Arg(65536)->Unit(benchmark::kMillisecond);

/// 1F1B in which the number of forward passes ahead varies at random, on every rank above that of the next.
schedule::Schedule random_order(const plan::Plan& plan) {
  core::Random random(1);
  schedule::Schedule out;
  const auto stages = static_cast<std::int32_t>(plan.stages.size());
  for (std::int32_t s = 0; s < stages; ++s) {
    out.rank_of_stage.push_back(s);
    schedule::RankOrder& row = out.ranks.emplace_back();
    for (std::int32_t f = 0, b = 0; b < plan.training.mini_batch;) {
      const auto ahead = 3 * (stages - s) - random.between(0, 2);
      if (f < plan.training.mini_batch && f - b < ahead)
        row.push_back(schedule::forward(s, f++));
      else
        row.push_back(schedule::backward(s, b++));
    }
  }
  return out;
}

/// Search for a period where the order has none, or has two phases (GPipe): its share of the time of the full
/// run that follows, median of five.
void aperiodic(benchmark::State& state, const char* family) {
  PipelineProblem p = pipeline(static_cast<std::size_t>(state.range(0)), state.range(1), 1, 1000);
  p.plan.schedule = family;
  for (plan::Stage& stage : p.plan.stages) stage.in_flight = p.plan.training.mini_batch;
  const schedule::ScheduledPlan scheduled(
      p.graph, p.plan, p.plan.schedule == "1f1b" ? random_order(p.plan) : schedule::plan_order(p.plan));
  if (sim::steady_time(p.problem(), scheduled, {})) return state.SkipWithError("has a period");
  std::array<double, 5> shares{};
  for (double& share : shares) {
    const double full = ticks_of([&] { return full_time(p.problem(), scheduled); });
    share = ticks_of([&] { return sim::steady_time(p.problem(), scheduled, {}); }) / full;
  }
  std::ranges::sort(shares);
  state.counters["share"] = shares[shares.size() / 2];
  state.SetLabel("goal share 0.02");
  for (auto _ : state) benchmark::DoNotOptimize(sim::steady_time(p.problem(), scheduled, {}));
}
BENCHMARK_CAPTURE(aperiodic, random, "1f1b")
    ->Args({2, 512})
    ->Args({8, 4096})
    ->Args({64, 4096})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(aperiodic, gpipe, "gpipe")
    ->Args({2, 512})
    ->Args({8, 4096})
    ->Args({64, 4096})
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
