#include "penstock/check/trace_violations.hpp"

#include <doctest/doctest.h>

#include <functional>

#include "penstock/core/error.hpp"
#include "penstock/planners/planner.hpp"
#include "penstock/schedule/in_flight.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "penstock/sim/simulate.hpp"
#include "support/fixed_costs.hpp"
#include "support/planted.hpp"
#include "support/random_problem.hpp"

using namespace penstock;
using core::Bytes;
using core::DeviceId;
using core::OpId;
using core::Picoseconds;
using support::shift;
using support::span;
using trace::TaskKind;

namespace {

/// a on device 0 with micro-batches of 2, b on devices 1 and 2 with micro-batches of 4; b has weights to
/// reduce.
std::string fault_after(const std::function<void(trace::Trace&)>& change) {
  graph::GraphBuilder builder("two");
  builder.add(support::unit_op("a"));
  builder.add(support::unit_op("b", 1e9, 250));
  builder.add_edge(OpId(0), OpId(1));
  const auto graph = builder.build();
  const auto cluster = support::tiny_cluster(3, 1 << 30, 1000);
  const auto costs = support::FixedCosts::uniform(2, 1, 2);
  plan::Plan plan;
  plan.training.mini_batch = 8;
  plan.stages = {{{OpId(0)}, {DeviceId(0)}, 2, 1, 0, {}},
                 {{OpId(1)}, {DeviceId(1), DeviceId(2)}, 4, 1, 0, {}}};
  schedule::derive_in_flight(plan, plan::StageGraph(graph, plan));
  const cost::Problem problem{graph, cluster, costs, plan.training};
  const auto order = schedule::plan_order(plan);
  trace::Trace trace = sim::simulate(problem, {problem.graph, plan, order});
  change(trace);
  const auto violations = check::trace_violations(problem, {problem.graph, plan, order}, trace);
  return violations.empty() ? "none" : violations.front();
}

}  // namespace

TEST_CASE("a trace that the simulator wrote has no fault") {
  CHECK(fault_after([](auto&) {}) == "none");
}

TEST_CASE("planted faults are found") {
  CHECK(fault_after([](auto& t) { span(t, TaskKind::forward, 0, 1).start -= Picoseconds(1); }) ==
        "device 0 runs passes 0 and 1 at once");
  CHECK(fault_after([](auto& t) {
          std::swap(span(t, TaskKind::forward, 0, 0).micro_batch,
                    span(t, TaskKind::forward, 0, 1).micro_batch);
        }) == "device 0 leaves its order at pass 0");
  CHECK(fault_after([](auto& t) { span(t, TaskKind::forward, 1, 0).device = DeviceId(2); }) ==
        "device 1 runs 4 passes where its order has 5");
  CHECK(fault_after([](auto& t) { shift(span(t, TaskKind::transfer, 0, 0), -1); }) ==
        "device 0 to 1, micro-batch 0, 2000 bytes: sent before it is computed");
  CHECK(fault_after([](auto& t) {
          span(t, TaskKind::transfer, 0, 0).end += Picoseconds(std::int64_t{1} << 60);
        }) == "device 0 to 1, micro-batch 0, 2000 bytes: arrives after it is used");
  CHECK(fault_after([](auto& t) { span(t, TaskKind::transfer, 0, 0).end -= Picoseconds(2); }) ==
        "device 0 to 1, micro-batch 0, 2000 bytes: faster than its route");
  CHECK(fault_after([](auto& t) { span(t, TaskKind::transfer, 0, 0).bytes = Bytes(1999); }) ==
        "device 0 to 1, micro-batch 0, 1999 bytes: 1 messages where 0 are needed");
  CHECK(fault_after([](auto& t) {
          t.spans.erase(t.spans.begin() + (&span(t, TaskKind::transfer, 0, 0) - t.spans.data()));
        }) == "device 0 to 1, micro-batch 0, 2000 bytes: 0 messages where 1 are needed");
  CHECK(fault_after([](auto& t) { shift(span(t, TaskKind::all_reduce, 1, 0), -1); }) ==
        "device 1 reduces gradients that are still computed");
  CHECK(fault_after([](auto& t) { span(t, TaskKind::all_reduce, 1, 0).device = DeviceId(0); }) ==
        "device 1 reduces 0 bytes of 1000");
  CHECK(fault_after([](auto& t) {
          t.devices[1].memory[1].activations = Bytes(-1);
        }).starts_with("device 1 holds a negative number of bytes at "));
  CHECK(fault_after([](auto& t) { t.devices[2].memory.back().buffers = Bytes(1); }) ==
        "device 2 still holds bytes in the end");
  CHECK(fault_after([](auto& t) { t.iteration += Picoseconds(1); }).starts_with("the iteration takes "));
}

TEST_CASE(
    "the simulator keeps the rules on random problems, planned with any sizes and replica counts, on both "
    "networks, with every collective, in buckets or not") {
  int traces = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    const auto random = support::random_problem(seed);
    const cost::Problem problem = random.problem();
    planners::SearchOptions search;
    search.per_stage_micro_batch = seed % 2 == 0;
    search.any_degree = true;
    plan::Plan plan;
    try {
      plan = planners::planner(seed % 3 == 0 ? "spp" : "graphpipe").plan(problem, search, {}).plan;
    } catch (const core::Infeasible&) {
      continue;
    }
    const auto order = schedule::plan_order(plan);
    for (const auto network : {sim::NetworkModel::fifo, sim::NetworkModel::fair}) {
      const sim::SimulationOptions options{
          network, sim::collective(sim::collective_names()[seed % sim::collective_names().size()])};
      const auto trace = sim::simulate(problem, {problem.graph, plan, order}, options);
      CHECK(check::trace_violations(problem, {problem.graph, plan, order}, trace, options) ==
            std::vector<std::string>());
      CHECK(trace.iteration == sim::simulate_time(problem, {problem.graph, plan, order}, options));
      ++traces;
    }
  }
  CHECK(traces >= 300);
}
