// Layers that are computed again: what they take and hold, by hand and as the verifier counts it.

#include <doctest/doctest.h>

#include <limits>
#include <map>
#include <ranges>
#include <set>

#include "penstock/check/trace_violations.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/random.hpp"
#include "penstock/cost/sharding.hpp"
#include "penstock/schedule/in_flight.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "penstock/score/estimate.hpp"
#include "penstock/score/least_iteration.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/validate.hpp"
#include "penstock/sim/simulate.hpp"
#include "penstock/trace/summary.hpp"
#include "support/fixed_costs.hpp"
#include "support/near.hpp"
#include "support/thirds.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using core::DeviceId;
using core::OpId;
using plan::MemoryKind;
using plan::Recomputation;

namespace {

/// embedding -> four layers of a norm, a dense and an add -> head. Every operator makes and keeps 1 kB per
/// sample; the add reads what the norm reads.
graph::OpGraph model() {
  graph::GraphBuilder builder("layers");
  OpId x = builder.add(support::unit_op("embedding"));
  for (int layer = 0; layer < 4; ++layer) {
    const std::string name = "layer" + std::to_string(layer);
    const OpId norm = builder.add(support::unit_op(name + ".norm"), {x});
    const OpId dense = builder.add(support::unit_op(name + ".dense"), {norm});
    x = builder.add(support::unit_op(name + ".add"), {x, dense});
  }
  builder.add(support::unit_op("head"), {x});
  return builder.build();
}

/// All of it on one device, or its halves on two.
struct RecomputationCase {
  explicit RecomputationCase(std::size_t stages, const Recomputation& recompute,
                             const char* schedule = "gpipe", graph::OpGraph layers = model())
      : graph(std::move(layers)), cluster(support::tiny_cluster(stages, std::int64_t{1} << 40, 1e18)) {
    plan.training.mini_batch = 3;
    plan.schedule = schedule;
    for (std::size_t s = 0; s < stages; ++s) {
      plan::Stage& stage = plan.stages.emplace_back();
      for (std::size_t op = s * graph.size() / stages; op < (s + 1) * graph.size() / stages; ++op)
        stage.operators.emplace_back(op);
      stage.devices = {DeviceId(s)};
      stage.recompute = recompute;
    }
    schedule::derive_in_flight(plan, plan::StageGraph(graph, plan));
  }
  cost::Problem problem() const { return {graph, cluster, costs, plan.training}; }
  trace::Trace simulated() const {
    const auto order = schedule::plan_order(plan);
    auto trace = sim::simulate(problem(), {problem().graph, plan, order}, {sim::NetworkModel::fifo});
    for (const auto& violation :
         check::trace_violations(problem(), {problem().graph, plan, order}, trace, {sim::NetworkModel::fifo}))
      FAIL_CHECK(violation);
    return trace;
  }
  double seconds() const { return to_seconds(simulated().iteration).value(); }
  std::int64_t activations(std::size_t device = 0) const {
    return at(trace::summarise(simulated()).devices[device].at_peak, MemoryKind::activations).value();
  }
  std::int64_t counted(std::size_t stage = 0) const {
    return at(score::stage_memories(problem(), plan)[stage], MemoryKind::activations).value();
  }

  graph::OpGraph graph;
  cluster::Cluster cluster;
  support::ThirdsCosts costs;
  plan::Plan plan;
};

/// Layers of two to four operators among single ones, each of 1 to 9 kB, one in three of which is read again
/// further on.
graph::OpGraph random_layers(core::Random& random) {
  graph::GraphBuilder builder("random");
  std::vector<OpId> made;
  const auto add = [&](const std::string& name) {
    graph::Operator op = support::unit_op(name);
    op.output_bytes = core::Bytes(random.between(1, 5) * 1000);
    op.saved_bytes = op.output_bytes + core::Bytes(random.between(0, 4) * 1000);
    std::vector<OpId> inputs;
    if (!made.empty()) inputs.push_back(made.back());
    if (made.size() > 1 && random.chance(0.3))
      inputs.push_back(made[static_cast<std::size_t>(random.between(0, static_cast<int>(made.size()) - 2))]);
    made.push_back(builder.add(op, inputs));
  };
  for (int layer = 0; layer < 6; ++layer) {
    if (random.chance(0.4)) add("single" + std::string(1, static_cast<char>('a' + layer)));
    const std::int64_t inside = random.between(2, 4);
    for (std::int64_t i = 0; i < inside; ++i)
      add("layer" + std::to_string(layer) + "." + std::string(1, static_cast<char>('a' + i)));
  }
  return builder.build();
}

/// Bytes of one micro-batch of one sample: held between its passes, and at the fullest moment of its backward
/// pass, which runs operator by operator.
struct WalkedBytes {
  std::int64_t between = 0, fullest = 0;
};
WalkedBytes walked(const graph::OpGraph& graph, const plan::Stage& stage) {
  std::vector<std::set<OpId>> layers;
  for (const auto& members : plan::segments(graph, stage.operators, stage.recompute))
    layers.emplace_back(members.begin(), members.end());
  const auto layer_of = [&](OpId id) {
    return std::ranges::find_if(layers, [&](const std::set<OpId>& layer) { return layer.contains(id); });
  };
  std::map<OpId, std::int64_t> held;
  for (const OpId id : stage.operators) {
    const auto layer = layer_of(id);
    const auto readers = graph.dag().successors(static_cast<graph::Vertex>(id.index()));
    if (layer == layers.end())
      held[id] = graph.op(id).saved_bytes.value();
    else if (std::ranges::any_of(readers, [&](graph::Vertex v) {
               return !layer->contains(OpId(static_cast<std::size_t>(v)));
             }))
      held[id] = graph.op(id).output_bytes.value();
  }
  const auto all = [&] {
    std::int64_t sum = 0;
    for (const auto& [id, bytes] : held) sum += bytes;
    return sum;
  };
  WalkedBytes out{all(), all()};
  for (const OpId id : std::views::reverse(stage.operators)) {
    if (const auto layer = layer_of(id); layer != layers.end())
      for (const OpId member : *layer)
        if (member <= id) held[member] = graph.op(member).saved_bytes.value();
    out.fullest = std::max(out.fullest, all());
    held.erase(id);
  }
  return out;
}

}  // namespace

TEST_CASE("random layers hold what a walk through their backward pass holds, and less with each layer") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    core::Random random(seed);
    const graph::OpGraph graph = random_layers(random);
    std::int64_t before = std::numeric_limits<std::int64_t>::max();
    for (std::int64_t first = 1; first <= 6; ++first) {
      CAPTURE(first);
      RecomputationCase given(1, {Recomputation::SegmentScope::layers, false, first},
                              random.chance(0.5) ? "gpipe" : "1f1b", graph);
      const std::int64_t in_flight = given.plan.stages[0].in_flight;
      const WalkedBytes expected = walked(graph, given.plan.stages[0]);
      CHECK(given.activations() == (in_flight - 1) * expected.between + expected.fullest);
      CHECK(given.counted() == given.activations());
      CHECK(expected.fullest <= before);
      before = expected.fullest;
    }
  }
}

TEST_CASE("recomputed layers: their inputs of all micro-batches, the inside of one") {
  // 14 operators keep 1 kB each; three micro-batches take 14 s forward and 28 s backward each.
  const RecomputationCase whole(1, {});
  CHECK(whole.seconds() == support::near(3 * 42));
  CHECK(whole.activations() == 3 * 14000);
  // 12 operators again. Embedding and head are saved, and the four adds, each of which the next layer or the
  // head reads. Of one layer at a time there are norm and dense: of the last one when the head is free.
  const RecomputationCase layers(1, plan::kRecomputeLayers);
  CHECK(layers.seconds() == support::near(3 * (42 + 12)));
  CHECK(layers.activations() == 3 * 6000 + 1000);
  CHECK(layers.counted() == layers.activations());
  // Only the first two: the others keep all they make, 2 kB each and the adds that are saved anyhow. When the
  // second layer is computed again, these are free.
  const RecomputationCase two(1, {Recomputation::SegmentScope::layers, false, 2});
  CHECK(two.seconds() == support::near(3 * (42 + 6)));
  CHECK(two.activations() == 3 * 10000);
  CHECK(two.counted() == two.activations());
  // The stage as one segment holds all of it once.
  const RecomputationCase stage(1, plan::kRecomputeStage);
  CHECK(stage.seconds() == support::near(3 * (42 + 14)));
  CHECK(stage.activations() == 14000);
}

TEST_CASE("a layer cut in two is a segment in each stage; what leaves a stage is not saved there") {
  // Stage 0: embedding, layers 0 and 1 (7 operators): embedding and the first add are saved, the second add
  // leaves and is kept with its layer. Stage 1 receives it, saves both adds and the head.
  const RecomputationCase halves(2, plan::kRecomputeLayers, "1f1b");
  CHECK(halves.counted(0) == 2 * 2000 + 3000);
  CHECK(halves.counted(1) == 1 * (3000 + 1000) + 1000);
  CHECK(halves.activations(0) == halves.counted(0));
  CHECK(halves.activations(1) == halves.counted(1));
  RecomputationCase uneven(2, plan::kRecomputeLayers, "1f1b");
  auto &first = uneven.plan.stages[0].operators, &second = uneven.plan.stages[1].operators;
  first.emplace_back(7), first.emplace_back(8);  // norm and dense of layer 2, whose add stays behind
  second.erase(second.begin(), second.begin() + 2);
  // The first add is saved, the second too, for norm and dense read it; both leave or end here.
  CHECK(uneven.counted(0) == 2 * 3000 + 2000);
  CHECK(uneven.activations(0) == uneven.counted(0));
  // A single add is no layer and saved like the head; of layer 3 norm and dense are computed again.
  CHECK(uneven.counted(1) == 1 * (3000 + 2000) + 1000);
  CHECK(uneven.activations(1) == uneven.counted(1));
}

TEST_CASE("estimate and bound include recomputation") {
  const RecomputationCase layers(1, plan::kRecomputeLayers);
  CHECK(cost::stage_time(layers.problem(), layers.plan.stages[0], 1).total().recompute.value() ==
        support::near(12));
  CHECK(score::estimate(layers.problem(), layers.plan).iteration.value() == support::near(3 * 54));
  CHECK(score::least_iteration(layers.problem(), layers.plan, score::ReductionTiming::closed_form).value() ==
        support::near(3 * 54));
}

TEST_CASE("schedules that split backward passes refuse layers") {
  const auto order = [](const Recomputation& what) {
    return schedule::plan_order(RecomputationCase(2, what, "zb_h1").plan);
  };
  CHECK_NOTHROW(order(plan::kRecomputeStage));
  try {
    order(plan::kRecomputeLayers);
    FAIL("was ordered");
  } catch (const core::BadInput& e) {
    CHECK(std::string(e.what()) == "stage 0 recomputes layer by layer, zb_h1 splits its backward passes");
  }
}

TEST_CASE("on shared devices a stage that waits with its recomputation holds the gradient from then on") {
  const auto graph = support::tiny_graph(2, {{0, 1}});
  const auto cluster = support::tiny_cluster(1);
  const auto costs = support::FixedCosts::uniform(2, 1, 2);
  plan::Plan plan;
  plan.training.mini_batch = 2;
  plan.schedule = "interleaved_1f1b";
  for (std::size_t s = 0; s < 2; ++s)
    plan.stages.push_back({{core::OpId(s)}, {core::DeviceId(0)}, 1, 1, 0, {}, plan::kRecomputeStage});
  const cost::Problem problem{graph, cluster, costs, plan.training};
  for (const plan::Recomputation how : {plan::kRecomputeStage, plan::kRecomputeEarly}) {
    for (plan::Stage& stage : plan.stages) stage.recompute = how;
    const auto order = score::order_of(problem, plan);
    const auto trace = sim::simulate(problem, {problem.graph, plan, order}, {});
    CHECK(check::trace_violations(problem, {problem.graph, plan, order}, trace, {}) ==
          std::vector<std::string>{});
  }
}
