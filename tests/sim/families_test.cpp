// Schedules beyond 1F1B, on a real plan: the simulator must agree with what they take as bare schedules.

#include <doctest/doctest.h>

#include <algorithm>

#include "penstock/check/trace_violations.hpp"
#include "penstock/schedule/catalogue.hpp"
#include "penstock/schedule/in_flight.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "penstock/score/validate.hpp"
#include "penstock/sim/schedule_times.hpp"
#include "penstock/sim/simulate.hpp"
#include "penstock/trace/summary.hpp"
#include "support/near.hpp"
#include "support/thirds.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using core::DeviceId;
using core::OpId;

namespace {

struct FamilyCase {
  graph::OpGraph graph;
  cluster::Cluster cluster;
  support::ThirdsCosts costs;
  plan::Plan plan;
  cost::Problem problem() const { return {graph, cluster, costs, plan.training}; }
  trace::Trace simulated() const {
    const auto order = schedule::plan_order(plan);
    const auto trace = sim::simulate(problem(), {problem().graph, plan, order}, {sim::NetworkModel::fifo});
    for (const auto& violation :
         check::trace_violations(problem(), {problem().graph, plan, order}, trace, {sim::NetworkModel::fifo}))
      FAIL_CHECK(violation);
    return trace;
  }
};

/// A chain of one operator per stage, stage s on the `replicas` devices of rank[s]; links that do not show.
FamilyCase chain(const std::string& schedule, const std::vector<std::int32_t>& rank, std::int64_t mini_batch,
                 std::size_t replicas = 1) {
  std::vector<std::pair<int, int>> edges;
  for (int s = 0; s + 1 < static_cast<int>(rank.size()); ++s) edges.emplace_back(s, s + 1);
  const auto ranks = static_cast<std::size_t>(*std::max_element(rank.begin(), rank.end()) + 1);
  FamilyCase out{support::tiny_graph(rank.size(), edges),
                 support::tiny_cluster(ranks * replicas, std::int64_t{1} << 40, 1e18),
                 {},
                 {}};
  out.plan.training.mini_batch = mini_batch;
  out.plan.schedule = schedule;
  for (std::size_t s = 0; s < rank.size(); ++s) {
    out.plan.stages.push_back({{OpId(s)}, {}, 1, 1, 0, {}});
    for (std::size_t r = 0; r < replicas; ++r)
      out.plan.stages[s].devices.emplace_back(static_cast<std::size_t>(rank[s]) * replicas + r);
  }
  schedule::derive_in_flight(out.plan, plan::StageGraph(out.graph, out.plan));
  return out;
}

}  // namespace

TEST_CASE("families on a plan take as long as their schedules, and hold as much") {
  struct FamilyRow {
    const char* family;
    std::vector<std::int32_t> rank;
    std::int64_t micro_batches;
  };
  const std::vector<FamilyRow> rows = {{"gpipe", schedule::loop_placement(4, 1), 8},
                                       {"looped_bfs", schedule::loop_placement(4, 2), 8},
                                       {"interleaved_1f1b", schedule::loop_placement(4, 2), 8},
                                       {"zb_h1", schedule::loop_placement(4, 1), 8},
                                       {"zb_h2", schedule::loop_placement(4, 1), 8},
                                       {"interleaved_zb", schedule::loop_placement(4, 2), 8},
                                       {"zbv", schedule::zigzag_placement(4, 2), 8},
                                       {"v_half", schedule::zigzag_placement(4, 2), 8},
                                       {"v_min", schedule::zigzag_placement(4, 2), 8},
                                       {"dualpipev", schedule::zigzag_placement(4, 2), 10},
                                       {"hanayo", schedule::zigzag_placement(4, 2), 8}};
  for (const FamilyRow& row : rows) {
    INFO(row.family);
    const FamilyCase c = chain(row.family, row.rank, row.micro_batches);
    schedule::ScheduleShape shape;
    shape.ranks = 4;
    shape.chunks = static_cast<int>(row.rank.size()) / 4;
    shape.micro_batches = static_cast<int>(row.micro_batches);
    const schedule::Schedule schedule = schedule::make_schedule(row.family, shape);
    const auto bare = sim::simulate_schedule(schedule, {});
    const auto trace = c.simulated();
    CHECK(to_seconds(trace.iteration).value() == support::near(to_seconds(bare.makespan).value(), 1e-9));
    const auto summary = trace::summarise(trace);
    for (std::size_t r = 0; r < 4; ++r) {
      // 1 kB kept by each stage in flight, and 1 kB received where there is a stage before.
      const auto held = at(summary.devices[r].at_peak, plan::MemoryKind::activations).value();
      CHECK(held <= 2000 * bare.peak_live[r]);
      CHECK(held >= 1000 * bare.peak_live[r]);
    }
  }
}

TEST_CASE("recomputation takes a forward more and keeps what enters") {
  // One device, three micro-batches of 1 s forward and 2 s backward: 9 s, or 12 with the forwards again. A
  // stage keeps 1 kB per micro-batch, and only the one at work is there: gpipe holds 3 kB, or 1.
  FamilyCase c = chain("gpipe", {0}, 3);
  CHECK(to_seconds(c.simulated().iteration).value() == support::near(9));
  const auto activations = [](const trace::Trace& trace) {
    return at(trace::summarise(trace).devices[0].at_peak, plan::MemoryKind::activations);
  };
  CHECK(activations(c.simulated()) == core::Bytes(3000));
  c.plan.stages[0].recompute = plan::kRecomputeStage;
  CHECK(to_seconds(c.simulated().iteration).value() == support::near(12));
  CHECK(activations(c.simulated()) == core::Bytes(1000));
  const auto formula = score::stage_memories(c.problem(), c.plan)[0];
  CHECK(at(formula, plan::MemoryKind::activations) == core::Bytes(1000));
}

TEST_CASE("late recomputation waits for its gradient, early recomputation hides behind the other stage") {
  // Early, the first stage recomputes its second while the last one is at work: F F R B B; late, R comes
  // between.
  FamilyCase c = chain("1f1b", {0, 1}, 1);
  for (plan::Stage& stage : c.plan.stages) stage.recompute = plan::kRecomputeEarly;
  const auto early = c.simulated();
  for (plan::Stage& stage : c.plan.stages) stage.recompute = plan::kRecomputeStage;
  const auto late = c.simulated();
  CHECK(to_seconds(late.iteration - early.iteration).value() == support::near(1));
  const auto order = schedule::plan_order(c.plan);
  CHECK_FALSE(check::trace_violations(c.problem(), {c.problem().graph, c.plan, order}, early,
                                      {sim::NetworkModel::fifo})
                  .empty());
}

TEST_CASE("recomputed activations stay until the weight gradient, and the judge counts them") {
  // zb_h1 recomputes before the input gradient and keeps what that made until the weight gradient, often
  // passes later.
  FamilyCase c = chain("zb_h1", schedule::loop_placement(4, 1), 8);
  for (plan::Stage& stage : c.plan.stages) stage.recompute = plan::kRecomputeStage;
  const auto summary = trace::summarise(c.simulated());
  std::int64_t most = 0;
  for (std::size_t s = 0; s < 4; ++s) {
    const auto held = at(summary.devices[s].at_peak, plan::MemoryKind::activations).value();
    const auto judged = at(score::stage_memories(c.problem(), c.plan)[s], plan::MemoryKind::activations);
    CHECK(held <= judged.value());
    most = std::max(most, held - (s > 0 ? 1000 * c.plan.stages[s].in_flight : 0));
  }
  CHECK(most > 1000);  // more than the one micro-batch that whole backward passes would keep
}

TEST_CASE(
    "the judge reports missing weight versions, and families that cannot put two stages on one device") {
  // One micro-batch per update, three in flight: 2BW wants weights that do not exist yet. Memory is not
  // checked then.
  FamilyCase c = chain("pipedream_2bw", {0, 1, 2}, 1);
  const auto told = [&] { return score::violations(c.problem(), c.plan); };
  REQUIRE(told().size() == 1);
  CHECK(told()[0].find("more micro-batches per update are needed") != std::string::npos);
  CHECK(score::rule_violations(c.problem(), c.plan) == told());
  CHECK(score::stage_violations(c.problem(), c.plan).empty());  // that is the order's
  c.plan.training.mini_batch = 3;
  CHECK(told().empty());
  FamilyCase shared = chain("zbv", schedule::zigzag_placement(2, 2), 4);
  for (const char* family : {"list_order", "pipedream"}) {
    shared.plan.schedule = family;
    const auto violations = score::violations(shared.problem(), shared.plan);
    REQUIRE(violations.size() == 1);
    CHECK(violations[0] ==
          std::string(family) + " runs one stage on a device; stage 2 shares its devices with another");
  }
}

TEST_CASE("without a flush a mini-batch takes what the slowest stage computes") {
  // Two stages of 3 s per micro-batch each, two micro-batches: 6 s, where a flush makes it 9.
  CHECK(to_seconds(chain("1f1b", {0, 1}, 2).simulated().iteration).value() == support::near(9));
  for (const char* family : {"pipedream", "pipedream_2bw", "pipemare", "xpipe"})
    CHECK(to_seconds(chain(family, {0, 1}, 2).simulated().iteration).value() == support::near(6));
  const auto summary = trace::summarise(chain("pipedream", {0, 1}, 2).simulated());
  CHECK(summary.samples_per_second == support::near(2 / 6.0));
  CHECK(summary.bubble == support::near(0, 0.1));
  for (const auto& device : summary.devices) CHECK(device.busy.value() == support::near(6));
  // The trace has all mini-batches of the run.
  const auto trace = chain("pipedream", {0, 1}, 2).simulated();
  CHECK(length(trace) > trace.iteration * (trace.mini_batches - 1));
  CHECK(length(chain("1f1b", {0, 1}, 2).simulated()) == chain("1f1b", {0, 1}, 2).simulated().iteration);
}

TEST_CASE("without a flush a slow first stage sets the pace though it begins passes ahead of the last") {
  // The first of four stages takes 6 s per micro-batch, the others 3 s. It has begun four micro-batches when it
  // ends one: a run that stopped there would miss three forward passes, and seem faster.
  for (const auto& [mini_batch, replicas] : {std::pair(1, 1), {2, 1}, {8, 1}, {8, 8}, {16, 4}}) {
    CAPTURE(mini_batch);
    CAPTURE(replicas);
    FamilyCase c = chain("pipedream", {0, 1, 2, 3}, mini_batch, static_cast<std::size_t>(replicas));
    c.graph = support::tiny_graph(5, {{0, 1}, {1, 2}, {2, 3}, {3, 4}});
    for (std::size_t s = 1; s < 4; ++s) c.plan.stages[s].operators = {OpId(s + 1)};
    c.plan.stages[0].operators = {OpId(0), OpId(1)};
    schedule::derive_in_flight(c.plan, plan::StageGraph(c.graph, c.plan));
    const auto trace = c.simulated();
    CHECK(to_seconds(trace.iteration).value() == support::near(6.0 * mini_batch / replicas));
    CHECK(trace::summarise(trace).devices[0].busy.value() <=
          to_seconds(trace.iteration).value() * (1 + 1e-9));
  }
}

TEST_CASE("replicas take whole micro-batches in turn without a flush") {
  // Two stages on two devices each: four micro-batches of 3 s, two per replica.
  const auto trace = chain("pipedream", {0, 1}, 4, 2).simulated();
  CHECK(to_seconds(trace.iteration).value() == support::near(6));
  for (const auto& span : trace.spans)
    if (computes(span.kind)) CHECK(span.device.index() % 2 == static_cast<std::size_t>(span.micro_batch % 2));
}
