// Gradients reduced and weights updated: how a stage's replicas come together at the end of a mini-batch.

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "penstock/check/trace_violations.hpp"
#include "penstock/schedule/in_flight.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "penstock/sim/simulate.hpp"
#include "support/cables.hpp"
#include "support/fixed_costs.hpp"
#include "support/near.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using core::DeviceId;
using core::OpId;
using sim::ReductionMethod;

namespace {

/// Operators in a row with weights of 1 kB each, all in one stage on all devices of the cluster. 1 s forward
/// and backward per sample and operator, one micro-batch of a sample per replica.
double seconds_on(const cluster::Cluster& cluster, std::size_t operators,
                  const sim::SimulationOptions& options, std::int64_t bucket = 0) {
  const std::size_t replicas = cluster.size();
  graph::GraphBuilder builder("row");
  for (std::size_t v = 0; v < operators; ++v) {
    builder.add(support::unit_op("v" + std::to_string(v), 1e9, 250));
    if (v > 0) builder.add_edge(OpId(v - 1), OpId(v));
  }
  const auto graph = builder.build();
  const auto costs = support::FixedCosts::uniform(operators, 1, 1);
  plan::Plan plan;
  plan.training.mini_batch = static_cast<std::int64_t>(replicas);
  plan.training.bucket = core::Bytes(bucket);
  plan.stages = {{{}, {}, plan.training.mini_batch, 1, plan.training.mini_batch, {}}};
  for (std::size_t v = 0; v < operators; ++v) plan.stages[0].operators.emplace_back(v);
  for (std::size_t r = 0; r < replicas; ++r) plan.stages[0].devices.emplace_back(r);
  const cost::Problem problem{graph, cluster, costs, plan.training};
  const auto order = schedule::plan_order(plan);
  const auto trace = sim::simulate(problem, {problem.graph, plan, order}, options);
  for (const auto& violation : check::trace_violations(problem, {problem.graph, plan, order}, trace, options))
    FAIL_CHECK(violation);
  return to_seconds(trace.iteration).value();
}

/// On a switch with cables of 1 kB/s.
double seconds(std::size_t operators, std::size_t replicas, const sim::SimulationOptions& options,
               std::int64_t bucket = 0) {
  return seconds_on(support::tiny_cluster(replicas, 1 << 30, 1000), operators, options, bucket);
}

double reduce(std::size_t replicas, ReductionMethod collective) {
  return seconds(1, replicas, {sim::NetworkModel::fair, collective}) - 2;
}

}  // namespace

TEST_CASE("a ring moves 2(r-1)/r of the bytes over every cable") {
  // 1 kB at 1 kB/s: r = 2: 1 s; r = 4: six steps of 250 B, 1.5 s; r = 8: fourteen of 125 B, 1.75 s.
  CHECK(reduce(2, sim::collective("ring")) == support::near(1));
  CHECK(reduce(4, sim::collective("ring")) == support::near(1.5));
  CHECK(reduce(8, sim::collective("ring")) == support::near(1.75));
  CHECK(reduce(3, sim::collective("ring")) == support::near(4 * 0.334, 1e-3));
}

TEST_CASE("a tree moves all bytes along every edge, and children share the parent's cable") {
  // r = 2: up 1 s, down 1 s. r = 4, members 1, 2 under 0 and 3 under 1: 3 to 1 takes 1 s while 2 to 0 runs
  // without others. The message of 2 waits for nothing. Level by level, 3 to 1 (1 s), then 1 and 2 share 0's
  // cable... 2 has no children and starts at once, so it is over when 1 starts: up 2 s. Down: 0 to 1 and 2
  // share the cable, 2 s, then 1 to 3, 1 s.
  CHECK(reduce(2, sim::collective("tree")) == support::near(2));
  CHECK(reduce(4, sim::collective("tree")) == support::near(5));
}

TEST_CASE("each of two trees sums half of the bytes, and a parent in one is a leaf of the other") {
  // r = 2: 500 B each way, up and down: 1 s. r = 4: 1 and 3 are under 2, 2 under 0; in the other tree 0 and 2
  // are under 1, 1 under 3. Up: 2 and 1 receive twice 500 B each, 1 s, then 0 and 3 receive 500 B: 1.5 s;
  // down the same.
  CHECK(reduce(2, sim::collective("double_tree")) == support::near(1));
  CHECK(reduce(4, sim::collective("double_tree")) == support::near(3));
}

TEST_CASE("disjoint rings use every cable of a mesh in both directions") {
  // Eight devices with six links of 1 kB/s each: 2 x 7/8 x 1 kB at 6 kB/s, in parts of 20 or 21 bytes. Four
  // devices with three cables each: 2 x 3/4 x 1 kB at 3 kB/s.
  for (const char* collective : {"closed_form", "automatic", "disjoint_rings"})
    for (const auto network : {sim::NetworkModel::fair, sim::NetworkModel::fifo}) {
      const sim::SimulationOptions options{network, sim::collective(collective)};
      const auto reduce_on = [&](std::size_t devices, const std::vector<support::CableEnds>& cables) {
        return seconds_on(support::cabled_cluster(devices, cables), 1, options) - 2;
      };
      CHECK(reduce_on(8, support::hybrid_cube_mesh(1000)) == support::near(1.75 / 6, 0.02));
      CHECK(reduce_on(4, support::every_cable(4, 1000)) == support::near(0.5, 0.02));
    }
  // A group without such rings takes a single one.
  CHECK(reduce(4, sim::collective("disjoint_rings")) == support::near(1.5));
}

TEST_CASE("halving and doubling move as much as a ring in fewer steps; others fold in first") {
  // r = 4: halves 500 B, then 250 B, and back: 1.5 s. r = 3: the third sends 1 kB to the first, and the
  // second its 500 B at the same time, over the first's cable: 1.5 s. Then the first's 500 B to the second,
  // 500 B each way, 1 kB back: 3.5 s.
  CHECK(reduce(4, sim::collective("halving_doubling")) == support::near(1.5));
  CHECK(reduce(8, sim::collective("halving_doubling")) == support::near(1.75));
  CHECK(reduce(3, sim::collective("halving_doubling")) == support::near(3.5));
}

TEST_CASE("no replica sends gradients before it has computed them") {
  // Three samples on two replicas: one computes 2 s, the other 4 s. The ring's 1 s begins when both have
  // theirs.
  graph::GraphBuilder builder("one");
  builder.add(support::unit_op("v", 1e9, 250));
  const auto graph = builder.build();
  const auto cluster = support::tiny_cluster(2, 1 << 30, 1000);
  const auto costs = support::FixedCosts::uniform(1, 1, 1);
  plan::Plan plan;
  plan.training.mini_batch = 3;
  plan.stages = {{{OpId(0)}, {DeviceId(0), DeviceId(1)}, 3, 1, 3, {}}};
  const cost::Problem problem{graph, cluster, costs, plan.training};
  const auto order = schedule::plan_order(plan);
  for (const ReductionMethod collective :
       {sim::collective("ring"), sim::collective("tree"), sim::collective("halving_doubling")}) {
    const auto trace =
        sim::simulate(problem, {problem.graph, plan, order}, {sim::NetworkModel::fair, collective});
    for (const auto& span : trace.spans)
      if (span.kind == trace::TaskKind::all_reduce) CHECK(to_seconds(span.start).value() >= 4);
  }
}

TEST_CASE("the automatic choice is the one with the smallest closed form") {
  CHECK(reduce(8, sim::collective("automatic")) == support::near(reduce(8, sim::collective("ring"))));
  CHECK(reduce(2, sim::collective("closed_form")) == support::near(1));
}

TEST_CASE("buckets are reduced while the last backward pass runs on") {
  // Four operators: backward 4 s, gradients of 1 kB each, on two replicas 1 s per kB. One bucket: 4 + 4 + 4 =
  // 12 s. A bucket per operator: the first three all-reduces hide, 4 + 4 + 1 = 9 s. Two operators per bucket:
  // 4 + 4 + 2 = 10 s.
  const auto with = [](std::int64_t bytes) {
    return seconds(4, 2, {sim::NetworkModel::fair, sim::collective("ring")}, bytes);
  };
  CHECK(with(0) == support::near(12));
  CHECK(with(1) == support::near(9));
  CHECK(with(1000) == support::near(9));
  CHECK(with(1001) == support::near(10));
  CHECK(with(1 << 20) == support::near(12));
  const auto closed = [](std::int64_t bytes) {
    return seconds(4, 2, {sim::NetworkModel::fair, sim::collective("closed_form")}, bytes);
  };
  CHECK(closed(0) == support::near(12));
  CHECK(closed(1) == support::near(9));
}

TEST_CASE("Megatron-LM's second stage reduces after its last pass, its first in buckets") {
  // Two operators per stage, two replicas, cables of 1 kB/s, one sample per replica. The second stage: 8 kB of each
  // operator take 8 s. In buckets they begin 1 s before the pass ends. The first stage's 500 B each end before.
  graph::GraphBuilder builder("two");
  for (std::size_t v = 0; v < 4; ++v) {
    builder.add(support::unit_op("v" + std::to_string(v), 1e9, v < 2 ? 125 : 2000));
    if (v > 0) builder.add_edge(OpId(v - 1), OpId(v));
  }
  const auto graph = builder.build();
  const auto costs = support::FixedCosts::uniform(4, 1, 1);
  plan::Plan plan;
  plan.training.mini_batch = 2;
  plan.training.bucket = core::Bytes(1);
  plan.stages = {{{OpId(0), OpId(1)}, {DeviceId(0), DeviceId(1)}, 2, 1, 2, {}},
                 {{OpId(2), OpId(3)}, {DeviceId(2), DeviceId(3)}, 2, 1, 2, {}}};
  const auto run = [&](const cluster::FrameworkMemory& memory) {
    const auto cluster = support::tiny_cluster(4, 1 << 30, 1000).run_by({.memory = memory});
    const cost::Problem problem{graph, cluster, costs, plan.training};
    const auto order = schedule::plan_order(plan);
    const auto trace = sim::simulate(problem, {graph, plan, order}, {});
    std::map<std::size_t, int> reductions;  // [stage] of device 0 or 2
    for (const auto& span : trace.spans)
      if (span.kind == trace::TaskKind::all_reduce && span.device.index() % 2 == 0)
        ++reductions[span.stage.index()];
    CHECK(reductions[0] == 2);
    CHECK(reductions[1] == (memory.buckets_first_chunk ? 1 : 2));
    return to_seconds(trace.iteration).value();
  };
  CHECK(run({.buckets_first_chunk = true}) == support::near(run({}) + 1));
}

TEST_CASE("without a flush an all-reduce hides behind the mini-batch after it, on the last stage too") {
  // Two stages of two replicas, 1 s forward and backward, two micro-batches per replica and mini-batch: 4 s.
  // 1 GB of gradients takes 1 s to reduce, while the next 4 s run. Were the step to wait for the all-reduce
  // just begun, a mini-batch would take 5 s.
  graph::GraphBuilder builder("two");
  builder.add(support::unit_op("a", 1e9, 250'000'000));
  builder.add(support::unit_op("b", 1e9, 250'000'000));
  builder.add_edge(OpId(0), OpId(1));
  const auto graph = builder.build();
  const auto cluster = support::tiny_cluster(4);
  const auto costs = support::FixedCosts::uniform(2, 1, 1);
  plan::Plan plan;
  plan.training.mini_batch = 4;
  plan.schedule = "pipedream";
  plan.stages = {{{OpId(0)}, {DeviceId(0), DeviceId(1)}, 1, 1, 2, {}},
                 {{OpId(1)}, {DeviceId(2), DeviceId(3)}, 1, 1, 1, {}}};
  cost::Problem problem{graph, cluster, costs, plan.training};
  const auto order = schedule::plan_order(plan);
  for (const ReductionMethod collective : {sim::collective("closed_form"), sim::collective("ring")})
    for (const std::int64_t bucket : {0, 1}) {
      problem.training.bucket = core::Bytes(bucket);
      const sim::SimulationOptions options{sim::NetworkModel::fair, collective};
      const auto trace = sim::simulate(problem, {problem.graph, plan, order}, options);
      for (const auto& violation :
           check::trace_violations(problem, {problem.graph, plan, order}, trace, options))
        FAIL_CHECK(violation);
      CHECK(to_seconds(trace.iteration).value() == support::near(4, 1e-3));
    }
}

TEST_CASE("the optimizer streams weights, gradients and state through memory") {
  cluster::DeviceType type{"t", core::Bytes(1),     core::Bandwidth(1e12), {core::FlopRate(1)},
                           1,   core::Seconds(1e-6)};
  const support::FixedCosts costs = support::FixedCosts::uniform(1, 1, 1);
  // 1 GB of weights at 83 % of 1 TB/s: sgd moves 3 GB, momentum 5, adam 7, and one launch.
  const auto time = [&](plan::Optimizer o) {
    return costs.step_time(core::Bytes(1'000'000'000), plan::Training{.optimizer = o}, type).value();
  };
  CHECK(time(plan::Optimizer::sgd) == support::near(3e-3 / 0.83 + 1e-6));
  CHECK(time(plan::Optimizer::momentum) == support::near(5e-3 / 0.83 + 1e-6));
  CHECK(time(plan::Optimizer::adam) == support::near(7e-3 / 0.83 + 1e-6));
}
