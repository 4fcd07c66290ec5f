#include "penstock/sim/simulate.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <tuple>

#include "penstock/core/error.hpp"
#include "penstock/schedule/in_flight.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "penstock/trace/summary.hpp"
#include "support/fixed_costs.hpp"
#include "support/near.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using core::Bytes;
using core::DeviceId;
using core::OpId;
using plan::Plan;

namespace {

graph::OpGraph chain(std::size_t size) {
  std::vector<std::pair<int, int>> edges;
  for (std::size_t v = 0; v + 1 < size; ++v) edges.emplace_back(static_cast<int>(v), static_cast<int>(v + 1));
  return support::tiny_graph(size, edges);
}

/// One operator and one device per stage.
Plan one_each(const graph::OpGraph& graph, std::int64_t mini_batch,
              const std::vector<std::int64_t>& micro_batches) {
  Plan p;
  p.training.mini_batch = mini_batch;
  for (std::size_t s = 0; s < graph.size(); ++s)
    p.stages.push_back({{OpId(s)}, {DeviceId(s)}, micro_batches[s % micro_batches.size()], 1, 0, {}});
  schedule::derive_in_flight(p, plan::StageGraph(graph, p));
  return p;
}

/// Iteration in units of one second; links so fast that they do not show.
double simulated(const graph::OpGraph& graph, const Plan& p, const cost::CostModel& costs,
                 double bandwidth = 1e18, const sim::SimulationOptions& options = {sim::NetworkModel::fifo}) {
  const auto cluster = support::tiny_cluster(graph.size(), 1 << 30, bandwidth);
  const cost::Problem problem{graph, cluster, costs, p.training};
  return to_seconds(sim::simulate_time(problem, {problem.graph, p}, options)).value();
}

}  // namespace

TEST_CASE("spans of one moment are sorted by device, kind, stage and micro-batch") {
  const auto graph = chain(2);
  Plan p;
  p.training.mini_batch = 64;
  for (std::size_t s = 0; s < 2; ++s) {
    p.stages.push_back({{OpId(s)}, {}, 8, 1, 0, {}});
    for (std::size_t d = 0; d < 8; ++d) p.stages[s].devices.emplace_back(8 * s + d);
  }
  p.stages[1].after = {core::StageId(0)};
  schedule::derive_in_flight(p, plan::StageGraph(graph, p));
  const auto costs = support::FixedCosts::uniform(2, 1, 2);
  const auto cluster = support::tiny_cluster(16);
  const auto trace = sim::simulate({graph, cluster, costs, p.training}, {graph, p}, {});
  CHECK(std::ranges::is_sorted(trace.spans, {}, [](const trace::Span& span) {
    return std::tuple(span.start, span.device, span.kind, span.stage, span.micro_batch);
  }));
}

TEST_CASE("1F1B on an even chain takes (m + p - 1)(F + B)") {
  for (std::size_t p = 1; p <= 5; ++p)
    for (std::int64_t m = 1; m <= 9; m += 2) {
      const auto g = chain(p);
      const double expected = static_cast<double>(m + static_cast<std::int64_t>(p) - 1) * 3;
      CHECK(simulated(g, one_each(g, m, {1}), support::FixedCosts::uniform(p, 1, 2)) ==
            support::near(expected));
      Plan drain = one_each(g, m, {1});
      drain.schedule = "gpipe";
      CHECK(simulated(g, drain, support::FixedCosts::uniform(p, 1, 2)) == support::near(expected));
    }
}

TEST_CASE("GraphPipe Fig. 5: micro-batches 1, 2, 4 take 76 time units, uniform 4 take 80") {
  // Three stages, 32 samples, forward and backward one unit per sample each: 64 units of work per stage.
  // Uniform 4: two more stages of 4 samples to fill and drain, 2 * (4 + 4) = 16, together 80.
  // 1, 2, 4: the last stage starts after 1 + ... samples instead; the paper's picture shows 76.
  const auto g = chain(3);
  const auto unit = support::FixedCosts::uniform(3, 1, 1);
  CHECK(simulated(g, one_each(g, 32, {4}), unit) == support::near(80));
  CHECK(simulated(g, one_each(g, 32, {1, 2, 4}), unit) == support::near(76));
}

TEST_CASE("parallel stages run side by side") {
  //   a -> c, b -> c: depth 2, so (m + 1)(F + B); in a forced row a, b, c it is (m + 2)(F + B).
  const auto g = support::tiny_graph(3, {{0, 2}, {1, 2}});
  const auto unit = support::FixedCosts::uniform(3, 1, 1);
  Plan p = one_each(g, 8, {1});
  CHECK(simulated(g, p, unit) == support::near(9 * 2));
  for (auto& stage : p.stages) stage.in_flight = 0;
  p.stages[1].after = {core::StageId(0)};
  schedule::derive_in_flight(p, plan::StageGraph(g, p));
  CHECK(p.stages[0].in_flight == 3);
  CHECK(simulated(g, p, unit) == support::near(10 * 2));
}

TEST_CASE("a transfer costs its time once each way when nothing hides it") {
  // Two stages, one micro-batch of one sample. F 1 s, 1 kB at 1 kB/s = 1 s, F B of 1 s each, 1 s back, B 1 s.
  const auto g = chain(2);
  CHECK(simulated(g, one_each(g, 1, {1}), support::FixedCosts::uniform(2, 1, 1), 1000) == support::near(6));
}

TEST_CASE("a link serves one transfer at a time") {
  // a feeds b and c, each 1 kB over a's single cable of 1 kB/s: the second waits for the first.
  // F_a 1, transfers end at 2 and 3, F_c B_c end at 5, gradient of c arrives at 6, B_a ends at 7.
  const auto g = support::tiny_graph(3, {{0, 1}, {0, 2}});
  CHECK(simulated(g, one_each(g, 1, {1}), support::FixedCosts::uniform(3, 1, 1), 1000) == support::near(7));
}

TEST_CASE("or a link is shared") {
  // The problem above with half of a's cable for each: both arrive at 3, F and B of b and c end at 5. Both
  // gradients share a's cable until 7, and B_a ends at 8.
  const auto g = support::tiny_graph(3, {{0, 1}, {0, 2}});
  CHECK(simulated(g, one_each(g, 1, {1}), support::FixedCosts::uniform(3, 1, 1), 1000,
                  {sim::NetworkModel::fair}) == support::near(8));
}

TEST_CASE("a transfer that waits for its receiver does not keep its sender's cable idle") {
  // a and b feed c, b also feeds d; 1 kB each at 1 kB/s. a's tensor occupies c's cable from 1 to 2 s. b's
  // tensor for c became ready at the same moment and waits for it. b's tensor for d goes ahead, 1 to 2 s;
  // then b's for c, 2 to 3 s.
  const auto g = support::tiny_graph(4, {{0, 2}, {1, 2}, {1, 3}});
  const auto cluster = support::tiny_cluster(4, 1 << 30, 1000);
  const auto costs = support::FixedCosts::uniform(4, 1, 1);
  const Plan p = one_each(g, 1, {1});
  const cost::Problem problem{g, cluster, costs, p.training};
  const auto trace = sim::simulate(problem, {problem.graph, p}, {sim::NetworkModel::fifo});
  for (const auto& span : trace.spans) {
    if (span.kind != trace::TaskKind::forward) continue;
    if (span.stage == core::StageId(2)) CHECK(to_seconds(span.start).value() == support::near(3));
    if (span.stage == core::StageId(3)) CHECK(to_seconds(span.start).value() == support::near(2));
  }
}

TEST_CASE("replicas share each micro-batch and reduce gradients at the end") {
  graph::GraphBuilder builder("one");
  graph::Operator op = support::unit_op("a", 1e9, 250);  // 1000 bytes of weights
  builder.add(op);
  const auto g = builder.build();
  const auto cluster = support::tiny_cluster(2, 1 << 30, 1000);
  const auto costs = support::FixedCosts::uniform(1, 1, 1);
  Plan p;
  p.training.mini_batch = 8;
  p.stages = {{{OpId(0)}, {DeviceId(0), DeviceId(1)}, 4, 1, 4, {}}};
  const cost::Problem problem{g, cluster, costs, p.training};
  const auto trace = sim::simulate(problem, {problem.graph, p});
  // Two micro-batches, two samples per device: 2 * (2 + 2) s; ring of two: 2 * 500 B at 1 kB/s = 1 s.
  CHECK(to_seconds(trace.iteration).value() == support::near(9));
  CHECK(trace::summarise(trace).samples_per_second == support::near(8.0 / 9));
}

TEST_CASE("memory over time follows the schedule and stays within the formula") {
  const auto g = chain(3);
  const auto cluster = support::tiny_cluster(3, 1 << 30, 1e6);
  const auto costs = support::FixedCosts::uniform(3, 1, 2);
  const Plan p = one_each(g, 8, {1});
  const cost::Problem problem{g, cluster, costs, p.training};
  const auto trace = sim::simulate(problem, {problem.graph, p});
  const auto summary = trace::summarise(trace);
  for (std::size_t s = 0; s < 3; ++s) {
    const auto load = cost::stage_load(problem, p.stages[s].operators);
    const auto formula =
        cost::stage_memory(load, {}, {.optimizer = plan::Optimizer::sgd}, 1, p.stages[s].in_flight);
    const auto activations = static_cast<std::size_t>(plan::MemoryKind::activations);
    CHECK(summary.devices[s].at_peak[activations] == formula[activations]);
    CHECK(summary.devices[s].peak <= plan::total(formula));
    CHECK(trace.devices[s].memory.back().activations == Bytes(0));
    CHECK(trace.devices[s].memory.back().buffers == Bytes(0));
  }
}

TEST_CASE("an order that deadlocks is named, not waited for") {
  // The first stage may hold 1 sample, the second needs 4 before it can start.
  const auto g = chain(2);
  Plan p = one_each(g, 8, {1, 4});
  p.stages[0].in_flight = 1;
  try {
    simulated(g, p, support::FixedCosts::uniform(2, 1, 1));
    FAIL("no deadlock seen");
  } catch (const core::Error& e) {
    CHECK(e.code() == core::ExitCode::invalid_plan);
    CHECK(std::string(e.what()).find("deadlocks") != std::string::npos);
  }
}

TEST_CASE("an iteration that outlasts the simulator's clock of 104 days is refused") {
  // One sample, one stage: forward and backward of 4e6 s each are 92 days, of 5e6 s each 115 days.
  const auto g = chain(1);
  CHECK(simulated(g, one_each(g, 1, {1}), support::FixedCosts::uniform(1, 4e6, 4e6)) == support::near(8e6));
  CHECK_THROWS_AS(simulated(g, one_each(g, 1, {1}), support::FixedCosts::uniform(1, 5e6, 5e6)),
                  core::BadInput);
}

TEST_CASE("a simulation ends when its time is over") {
  const auto graph = support::tiny_graph(1, {});
  const auto cluster = support::tiny_cluster(1);
  const auto costs = support::FixedCosts::uniform(1, 1, 1);
  const cost::Problem problem{graph, cluster, costs, {4}};
  plan::Plan plan;
  plan.training = problem.training;
  plan.stages.push_back({{core::OpId(0)}, {core::DeviceId(0)}, 1, 1, 1, {}});
  sim::SimulationOptions options;
  CHECK_NOTHROW(sim::simulate(problem, {problem.graph, plan}, options));
  options.stop = core::StopToken().within(core::Seconds(0));
  CHECK_THROWS_AS(sim::simulate(problem, {problem.graph, plan}, options), core::TimedOut);
  CHECK_THROWS_AS(sim::simulate_time(problem, {problem.graph, plan}, options), core::TimedOut);
}
