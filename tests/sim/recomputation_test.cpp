// Layers that are computed again: what they take and hold, by hand and as the verifier counts it.

#include <doctest/doctest.h>

#include "penstock/check/trace_violations.hpp"
#include "penstock/core/error.hpp"
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
                             const char* schedule = "gpipe")
      : cluster(support::tiny_cluster(stages, std::int64_t{1} << 40, 1e18)) {
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

  graph::OpGraph graph = model();
  cluster::Cluster cluster;
  support::ThirdsCosts costs;
  plan::Plan plan;
};

}  // namespace

TEST_CASE("recomputed layers: their inputs of all micro-batches, the inside of one") {
  // 14 operators keep 1 kB each; three micro-batches take 14 s forward and 28 s backward each.
  const RecomputationCase whole(1, {});
  CHECK(whole.seconds() == support::near(3 * 42));
  CHECK(whole.activations() == 3 * 14000);
  // 12 operators again. Embedding and head are saved, and the four adds, each of which the next layer or the
  // head reads; norm and dense of one layer at a time.
  const RecomputationCase layers(1, plan::kRecomputeLayers);
  CHECK(layers.seconds() == support::near(3 * (42 + 12)));
  CHECK(layers.activations() == 3 * 6000 + 2000);
  CHECK(layers.counted() == layers.activations());
  // Only the first two: the others keep all they make, 2 kB each and the adds that are saved anyhow.
  const RecomputationCase two(1, {Recomputation::SegmentScope::layers, false, 2});
  CHECK(two.seconds() == support::near(3 * (42 + 6)));
  CHECK(two.activations() == 3 * 10000 + 2000);
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
  CHECK(halves.counted(1) == 1 * (3000 + 1000) + 2000);
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
  CHECK(uneven.counted(1) == 1 * (3000 + 2000) + 2000);
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
