#include "report/flows.hpp"

#include <doctest/doctest.h>

#include <set>
#include <tuple>

#include "penstock/planners/planner.hpp"
#include "penstock/schedule/catalogue.hpp"
#include "penstock/schedule/in_flight.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "penstock/sim/simulate.hpp"
#include "sim/engine.hpp"
#include "sim/tasks/build.hpp"
#include "support/drawn_trace.hpp"
#include "support/fixed_costs.hpp"
#include "support/random_problem.hpp"

using namespace penstock;
using trace::Span;
using trace::TaskKind;

namespace {

/// Start, end, from, to, direction of the sender, device, direction and micro-batch of the receiver.
using Known = std::tuple<std::int64_t, std::int64_t, std::size_t, std::size_t, bool, std::size_t, bool, int>;

std::multiset<Known> inferred(const trace::Trace& trace) {
  std::multiset<Known> out;
  for (const report::TransferFlow& flow : report::flows(trace)) {
    REQUIRE(flow.sender != report::kNoSpan);
    REQUIRE(flow.receiver != report::kNoSpan);
    const Span &t = trace.spans[flow.transfer], &a = trace.spans[flow.sender],
               &b = trace.spans[flow.receiver];
    out.insert({t.start.value(), t.end.value(), a.device.index(), t.peer.index(), a.kind == TaskKind::forward,
                b.device.index(), b.kind == TaskKind::forward, b.micro_batch});
  }
  return out;
}

/// Flows from the simulator's task graph, in which a transfer has its receiver; its direction is the
/// receiver's.
std::multiset<Known> simulated(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                               sim::NetworkModel network) {
  const auto graph = sim::build_iteration(problem, scheduled, {network}).graph;
  const sim::TaskTimes times = sim::run(graph, network);
  std::multiset<Known> out;
  for (std::size_t t = 0; t < graph.tasks.size(); ++t) {
    if (graph.tasks[t].kind != TaskKind::transfer) continue;
    const sim::TransferPath& path = graph.path(static_cast<sim::TaskId>(t));
    const sim::Task& receiver = graph.task(graph.tasks[t].next);
    out.insert({times.start[t], times.end[t], path.from.index(), path.to.index(),
                receiver.kind == TaskKind::forward, receiver.device().index(),
                receiver.kind == TaskKind::forward, receiver.micro_batch});
  }
  return out;
}

}  // namespace

TEST_CASE("flows inferred from a trace are those of the simulator's task graph") {
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    CAPTURE(seed);
    const auto random = support::random_problem(seed);
    const cost::Problem problem = random.problem();
    planners::SearchOptions options;
    options.per_stage_micro_batch = seed % 2 == 0;
    options.any_degree = true;
    plan::Plan plan;
    try {
      plan = planners::planner(seed % 3 == 0 ? "spp" : "graphpipe").plan(problem, options, {}).plan;
    } catch (const core::Infeasible&) {
      continue;
    }
    const auto order = schedule::plan_order(plan);
    for (const auto network : {sim::NetworkModel::fifo, sim::NetworkModel::fair}) {
      CHECK(inferred(sim::simulate(problem, {problem.graph, plan, order}, {network})) ==
            simulated(problem, {problem.graph, plan, order}, network));
      ++compared;
    }
  }
  CHECK(compared >= 120);
}

TEST_CASE("flows are inferred correctly if stages share devices, gradients are cut, or replicas take turns") {
  struct FlowRow {
    const char* schedule;
    std::vector<std::int32_t> rank;
    std::size_t replicas;
  };
  for (const FlowRow& row : {FlowRow{"interleaved_1f1b", schedule::loop_placement(4, 2), 1},
                             FlowRow{"zb_h1", schedule::loop_placement(4, 1), 2},
                             FlowRow{"zbv", schedule::zigzag_placement(4, 2), 1},
                             FlowRow{"hanayo", schedule::zigzag_placement(4, 2), 1},
                             FlowRow{"pipedream", schedule::loop_placement(4, 1), 2}}) {
    CAPTURE(row.schedule);
    std::vector<std::pair<int, int>> edges;
    for (int s = 0; s + 1 < static_cast<int>(row.rank.size()); ++s) edges.emplace_back(s, s + 1);
    const auto graph = support::tiny_graph(row.rank.size(), edges);
    const auto cluster = support::tiny_cluster(4 * row.replicas);
    const auto costs = support::FixedCosts::uniform(row.rank.size(), 1, 2);
    plan::Plan plan;
    plan.training.mini_batch = 16;
    plan.schedule = row.schedule;
    for (std::size_t s = 0; s < row.rank.size(); ++s) {
      plan.stages.push_back({{core::OpId(s)}, {}, 2, 1, 0, {}});
      for (std::size_t r = 0; r < row.replicas; ++r)
        plan.stages[s].devices.emplace_back(static_cast<std::size_t>(row.rank[s]) * row.replicas + r);
    }
    schedule::derive_in_flight(plan, plan::StageGraph(graph, plan));
    const cost::Problem problem{graph, cluster, costs, plan.training};
    const auto order = schedule::plan_order(plan);
    const auto network = sim::NetworkModel::fair;
    CHECK(inferred(sim::simulate(problem, {problem.graph, plan, order}, {network})) ==
          simulated(problem, {problem.graph, plan, order}, network));
  }
}
