// The judge finds what is wrong: one planted violation of every kind.

#include "support/planted.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

#include "penstock/check/trace_violations.hpp"
#include "penstock/schedule/in_flight.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "penstock/sim/simulate.hpp"
#include "support/fixed_costs.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using core::Bytes;
using core::DeviceId;
using core::OpId;
using core::Picoseconds;
using sim::NetworkModel;
using sim::ReductionMethod;
using support::shift;
using support::span;
using trace::Span;
using trace::TaskKind;

namespace {

constexpr std::int64_t kMillisecond = 1'000'000'000;  // ps

/// A chain of one operator of 1 kB and 1 kB of weights per stage; F takes `seconds` per sample, B as long;
/// cables of 1 kB/s.
struct PlantedScenario {
  graph::OpGraph graph;
  cluster::Cluster cluster;
  support::FixedCosts costs;
  plan::Plan plan;
  schedule::Schedule order;
  sim::SimulationOptions options;

  PlantedScenario(const std::string& schedule, const std::vector<std::vector<std::size_t>>& devices,
                  const std::vector<double>& seconds, std::int64_t mini_batch,
                  sim::SimulationOptions simulated = {})
      : graph(chain(devices.size())),
        cluster(support::tiny_cluster(8, 1 << 30, 1000)),
        costs(seconds, seconds),
        options(simulated) {
    plan.training.mini_batch = mini_batch;
    plan.schedule = schedule;
    for (std::size_t s = 0; s < devices.size(); ++s) {
      plan.stages.push_back({{OpId(s)}, {}, 1, 1, 0, {}});
      for (const std::size_t d : devices[s]) plan.stages[s].devices.emplace_back(d);
      if (schedule == "1f1b") plan.stages[s].micro_batch = static_cast<std::int64_t>(devices[s].size());
    }
    schedule::derive_in_flight(plan, plan::StageGraph(graph, plan));
    order = schedule::plan_order(plan);
  }

  static graph::OpGraph chain(std::size_t size) {
    graph::GraphBuilder builder("chain");
    for (std::size_t v = 0; v < size; ++v) {
      builder.add(support::unit_op("v" + std::to_string(v), 1e9, 250));
      if (v > 0) builder.add_edge(OpId(v - 1), OpId(v));
    }
    return builder.build();
  }

  /// Checks that the trace has no violation before the change, and one with `text` after it.
  void finds(const std::string& text, const std::function<void(trace::Trace&)>& change) const {
    const cost::Problem problem{graph, cluster, costs, plan.training};
    trace::Trace trace = sim::simulate(problem, {problem.graph, plan, order}, options);
    for (const auto& violation :
         check::trace_violations(problem, {problem.graph, plan, order}, trace, options))
      FAIL_CHECK(violation);
    change(trace);
    const auto violations = check::trace_violations(problem, {problem.graph, plan, order}, trace, options);
    const bool found = std::any_of(violations.begin(), violations.end(), [&](const auto& violation) {
      return violation.find(text) != std::string::npos;
    });
    const std::string first = violations.empty() ? "no fault" : violations.front();
    CHECK_MESSAGE(found, text, " was planted, found was: ", first);
  }
};

}  // namespace

TEST_CASE("a pass that takes another time than its operators is found") {
  const PlantedScenario scenario("1f1b", {{0}, {1}}, {1, 3}, 4);
  scenario.finds("device 0: pass 0 takes",
                 [](auto& t) { span(t, TaskKind::forward, 0).end -= Picoseconds(2); });
}

TEST_CASE("spans of devices and stages that do not exist, or have nothing to do, are found") {
  const PlantedScenario scenario("1f1b", {{0}, {1}}, {1, 3}, 4);
  const std::string text = "names a device or stage that does not exist";
  scenario.finds(text, [](auto& t) { span(t, TaskKind::forward, 0).device = DeviceId(8); });
  scenario.finds(text, [](auto& t) { span(t, TaskKind::forward, 0).stage = core::StageId(2); });
  scenario.finds(text, [](auto& t) { span(t, TaskKind::transfer, 0).peer = DeviceId(0); });
  scenario.finds(text, [](auto& t) { span(t, TaskKind::transfer, 0).peer = DeviceId(); });
  scenario.finds("the trace has 7 devices", [](auto& t) { t.devices.pop_back(); });
  scenario.finds("device 5 computes without a stage", [](auto& t) {
    t.spans.push_back(span(t, TaskKind::forward, 0));
    t.spans.back().device = DeviceId(5);
  });
}

TEST_CASE("a transfer to a receiver without room is found") {
  // Stage 1 is slow, holds one micro-batch and has room for one more: the third waits for its first backward
  // pass. On the way back stage 0 is slow, and has room for two gradients.
  PlantedScenario ahead("1f1b", {{0}, {1}}, {1, 10}, 4);
  ahead.plan.stages[0].in_flight = 4;
  ahead.order = schedule::plan_order(ahead.plan);
  ahead.finds("sent before its receiver has room",
              [](auto& t) { shift(span(t, TaskKind::transfer, 0, 2), -kMillisecond); });
  PlantedScenario back("gpipe", {{0}, {1}}, {10, 1}, 4);
  back.finds("sent before its receiver has room",
             [](auto& t) { shift(span(t, TaskKind::transfer, 1, 3), -kMillisecond); });
}

TEST_CASE("bytes that links cannot have carried by then, or long before, are found") {
  // Two replicas send to device 2 at once, over its cable: each gets half of it.
  const PlantedScenario shared("1f1b", {{0, 1}, {2}}, {1, 1}, 8);
  shared.finds("arrives when its links have carried",
               [](auto& t) { span(t, TaskKind::transfer, 0).end -= Picoseconds(kMillisecond); });
  const PlantedScenario slow("1f1b", {{0}, {1}}, {1, 10}, 4);
  slow.finds("ends late",
             [](auto& t) { span(t, TaskKind::transfer, 0, 1).end += Picoseconds(kMillisecond); });
}

TEST_CASE("two messages on one fifo link, and one that takes its time, are found") {
  const PlantedScenario scenario("1f1b", {{0, 1}, {2}}, {1, 1}, 8, {NetworkModel::fifo});
  scenario.finds("carries two messages at once",
                 [](auto& t) { shift(span(t, TaskKind::transfer, 1), -kMillisecond); });
  const PlantedScenario slow("1f1b", {{0}, {1}}, {1, 10}, 4, {NetworkModel::fifo});
  slow.finds("ps more than its route",
             [](auto& t) { span(t, TaskKind::transfer, 0, 1).end += Picoseconds(kMillisecond); });
}

TEST_CASE("faults of all-reduces that travel are found") {
  const PlantedScenario scenario("1f1b", {{0, 1, 2}}, {1}, 3, {NetworkModel::fair, sim::collective("ring")});
  scenario.finds("the all-reduces of stage 0 move", [](auto& t) {
    t.spans.erase(t.spans.begin() + (&span(t, TaskKind::all_reduce, 0) - t.spans.data()));
  });
  scenario.finds("the all-reduces of stage 0 move",
                 [](auto& t) { span(t, TaskKind::all_reduce, 1).bytes += Bytes(1); });
  scenario.finds("leaves its replicas", [](auto& t) { span(t, TaskKind::all_reduce, 0).peer = DeviceId(5); });
  scenario.finds("reduces gradients that are still computed",
                 [](auto& t) { shift(span(t, TaskKind::all_reduce, 0), -kMillisecond); });
  scenario.finds("updates stage 0 before its gradients are reduced",
                 [](auto& t) { shift(span(t, TaskKind::step, 0), -kMillisecond); });
  // All messages at once: each device can send only its own contribution.
  scenario.finds("does not bring all gradients to all replicas", [](auto& t) {
    const Picoseconds start = span(t, TaskKind::all_reduce, 0).start;
    for (Span& s : t.spans)
      if (s.kind == TaskKind::all_reduce) s.start = start;
  });
}

TEST_CASE("faults of all-reduces in closed form are found") {
  const PlantedScenario scenario("1f1b", {{0, 1}}, {1}, 2);
  scenario.finds("all-reduce 0 of stage 0 is not one",
                 [](auto& t) { shift(span(t, TaskKind::all_reduce, 1), 1); });
  scenario.finds("all-reduce 0 of stage 0 takes", [](auto& t) {
    for (const std::size_t d : {0, 1}) span(t, TaskKind::all_reduce, d).end -= Picoseconds(2);
  });
}

TEST_CASE("every mini-batch of a stream has its all-reduce, and its update in its place") {
  const PlantedScenario stream("pipedream", {{0, 1}, {2, 3}}, {1, 1}, 4,
                               {NetworkModel::fair, sim::collective("ring")});
  stream.finds("a mini-batch of the steady part adds", [](auto& t) { t.iteration += Picoseconds(1); });
  const PlantedScenario closed("pipedream", {{0, 1}, {2, 3}}, {1, 1}, 4);
  closed.finds("bytes of", [](auto& t) {
    t.spans.erase(t.spans.begin() + (&span(t, TaskKind::all_reduce, 0) - t.spans.data()));
  });
  closed.finds("leaves its order", [](auto& t) {
    // The forward of a later mini-batch before the update that its row has before it.
    Span& step = span(t, TaskKind::step, 0);
    const auto next = std::find_if(t.spans.begin(), t.spans.end(), [&](const Span& s) {
      return s.device == DeviceId(0) && s.kind == TaskKind::forward && s.start >= step.end;
    });
    std::swap(step.kind, next->kind), std::swap(step.micro_batch, next->micro_batch);
  });
}

TEST_CASE("an early bucket may be reduced while the last pass runs, not before its own gradients are there") {
  // Two operators with a bucket each: the backward pass takes 2 s, the first bucket is there after one.
  PlantedScenario scenario("1f1b", {{0, 1}}, {1}, 2, {NetworkModel::fair, sim::collective("ring")});
  scenario.plan.training.bucket = Bytes(1);
  scenario.graph = PlantedScenario::chain(2);
  scenario.costs = support::FixedCosts::uniform(2, 1, 1);
  scenario.plan.stages[0].operators = {OpId(0), OpId(1)};
  scenario.finds("reduces gradients that are still computed",
                 [](auto& t) { shift(span(t, TaskKind::all_reduce, 0), -kMillisecond); });
  // Backward passes of half a second per operator: the second bucket is there at 1 s, the first is reduced
  // by 1.5 s.
  scenario.costs = support::FixedCosts::uniform(2, 1, 0.5);
  scenario.finds("before it is done with the all-reduce before",
                 [](auto& t) { shift(span(t, TaskKind::all_reduce, 0, 2), -kMillisecond); });
}

TEST_CASE("orders that compute with what is not there are found") {
  PlantedScenario scenario("1f1b", {{0}}, {1}, 1);
  using schedule::ActionKind;
  const auto with = [&](std::vector<ActionKind> passes) {
    scenario.order.ranks[0].clear();
    for (const ActionKind kind : passes)
      scenario.order.ranks[0].push_back({kind, 0, kind == ActionKind::step ? -1 : 0});
    return scenario;
  };
  const cost::Problem problem{scenario.graph, scenario.cluster, scenario.costs, scenario.plan.training};
  const auto first_violation = [&](std::vector<ActionKind> passes) {
    const auto order = with(passes).order;
    const auto violations =
        check::trace_violations(problem, {problem.graph, scenario.plan, order},
                                sim::simulate(problem, {problem.graph, scenario.plan, order}));
    return violations.empty() ? "none" : violations.front();
  };
  CHECK(first_violation({ActionKind::forward, ActionKind::input_gradient, ActionKind::weight_gradient,
                         ActionKind::step}) == "none");
  CHECK(
      first_violation(
          {ActionKind::forward, ActionKind::weight_gradient, ActionKind::input_gradient, ActionKind::step}) ==
      "device 0: the weight gradient of micro-batch 0 on stage 0 starts before its input gradient has ended");
  CHECK(first_violation(
            {ActionKind::forward, ActionKind::recompute, ActionKind::backward, ActionKind::step}) == "none");
  CHECK(
      first_violation({ActionKind::forward, ActionKind::backward, ActionKind::recompute, ActionKind::step}) ==
      "device 0: the backward of micro-batch 0 on stage 0 starts before its recompute has ended");
}

TEST_CASE("a pause within a pair is found") {
  const PlantedScenario scenario("dualpipev", {{0}, {1}, {1}, {0}}, {1, 1, 1, 1}, 6);
  scenario.finds("pauses within the pair", [&](auto& t) {
    // Device 0's first pair: its backward begins a picosecond late, and is as much shorter.
    int position = 0;
    for (const auto& action : scenario.order.ranks[0]) {
      if (action.kind == schedule::ActionKind::overlapped) break;
      ++position;
    }
    for (Span& s : t.spans)
      if (computes(s.kind) && s.device == DeviceId(0) && position-- == -1) s.start += Picoseconds(1);
  });
}

TEST_CASE("leaving a barrier early is found") {
  // A barrier after all forwards, kept, and one that no device has kept. Device 0 comes to it when it has
  // done everything, and device 1 begins behind it.
  PlantedScenario scenario("gpipe", {{0}, {1}}, {1, 5}, 2);
  const schedule::Action barrier{schedule::ActionKind::barrier};
  const auto with = [&](std::ptrdiff_t first, std::ptrdiff_t second) {
    schedule::Schedule order = scenario.order;
    order.ranks[0].insert(order.ranks[0].begin() + first, barrier);
    order.ranks[1].insert(order.ranks[1].begin() + second, barrier);
    return order;
  };
  const cost::Problem problem{scenario.graph, scenario.cluster, scenario.costs, scenario.plan.training};
  const auto trace = sim::simulate(problem, {problem.graph, scenario.plan, with(2, 2)});
  CHECK(check::trace_violations(problem, {problem.graph, scenario.plan, with(2, 2)}, trace) ==
        std::vector<std::string>{});
  CHECK(check::trace_violations(problem, {problem.graph, scenario.plan, with(5, 0)}, trace) ==
        std::vector<std::string>{"barrier 0 is left before all have come to it"});
}

TEST_CASE("memory that passes and messages do not explain is found") {
  const PlantedScenario scenario("1f1b", {{0}, {1}}, {1, 3}, 4);
  const std::string text = "memory is not what passes and messages hold";
  scenario.finds(text, [](auto& t) { t.devices[1].memory[1].buffers += Bytes(1); });
  scenario.finds(text, [](auto& t) { t.devices[0].memory[0].activations += Bytes(1); });
  scenario.finds(text, [](auto& t) { t.devices[1].memory[1].time += Picoseconds(1); });
  scenario.finds(text, [](auto& t) {
    auto& points = t.devices[0].memory;
    points.erase(points.begin() + 1);
  });
}
