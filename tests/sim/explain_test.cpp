#include "penstock/sim/explain.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "penstock/core/error.hpp"
#include "penstock/planners/planner.hpp"
#include "penstock/schedule/in_flight.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "penstock/sim/perturbation.hpp"
#include "penstock/sim/simulate.hpp"
#include "sim/engine.hpp"
#include "sim/explain/critical_path.hpp"
#include "sim/tasks/prepare.hpp"
#include "support/fixed_costs.hpp"
#include "support/near.hpp"
#include "support/random_problem.hpp"

using namespace penstock;
using core::DeviceId;
using core::OpId;
using core::Picoseconds;
using sim::LimitingResource;
using sim::PathKind;
using sim::StartCause;

namespace {

struct ExplainCase {
  graph::OpGraph graph;
  cluster::Cluster cluster;
  support::FixedCosts costs;
  plan::Plan plan;
  cost::Problem problem() const { return {graph, cluster, costs, plan.training}; }
  sim::TimeExplanation explained(const sim::SimulationOptions& options = {}) const {
    return sim::explain(problem(), {problem().graph, plan}, options);
  }
};

/// One operator and one device per stage; backward passes take as long as forward passes.
ExplainCase staged(std::vector<std::pair<int, int>> edges, const std::vector<double>& seconds,
                   const cluster::Cluster& cluster, std::int64_t micro_batches) {
  ExplainCase out{support::tiny_graph(seconds.size(), edges), cluster, {seconds, seconds}, {}};
  out.plan.training.mini_batch = micro_batches;
  out.plan.schedule = "gpipe";
  for (std::size_t s = 0; s < seconds.size(); ++s)
    out.plan.stages.push_back({{OpId(s)}, {DeviceId(s)}, 1, 1, 0, {}});
  schedule::derive_in_flight(out.plan, plan::StageGraph(out.graph, out.plan));
  return out;
}

double seconds(Picoseconds time) {
  return to_seconds(time).value();
}

const sim::ResourceShare& share(const sim::TimeExplanation& explanation, LimitingResource resource) {
  const auto found = std::find_if(explanation.shares.begin(), explanation.shares.end(),
                                  [&](const auto& s) { return s.resource == resource; });
  REQUIRE(found != explanation.shares.end());
  return *found;
}

double time_of(const sim::TimeExplanation& explanation, PathKind kind) {
  Picoseconds sum;
  for (const auto& entry : explanation.path)
    if (entry.kind == kind) sum += entry.end - entry.start;
  return seconds(sum);
}

void check_tiles(const sim::TimeExplanation& explanation) {
  Picoseconds reached;
  bool tiles = true;
  for (const auto& entry : explanation.path) {
    tiles = tiles && entry.start == reached && entry.end > entry.start;
    reached = entry.end;
  }
  CHECK(tiles);
  CHECK(reached == explanation.run);
  Picoseconds sum;
  for (const auto& share : explanation.shares) sum += share.time;
  CHECK(sum == explanation.run);
}

constexpr LimitingResource stage(std::size_t s) {
  return {LimitingResource::ResourceKind::stage, s};
}

}  // namespace

TEST_CASE("the bottleneck stage of a chain takes most of the path, and without it the others show") {
  // gpipe, stages of 1, 5 and 1 s on four micro-batches; 1 kB takes 1 us. Device 1 starts after 1 s and runs
  // four forwards, 20 s. The last goes forward and the first comes back on device 2, 2 s. Device 1 runs four
  // backwards, 20 s, and device 0 the last, 1 s: 44 s and four transfers. Without device 1: four forwards on
  // device 0, the last on device 2, four backwards there, the last on device 0, 4 + 1 + 4 + 1 = 10 s.
  const auto explained = staged({{0, 1}, {1, 2}}, {1, 5, 1}, support::tiny_cluster(3), 4).explained();
  check_tiles(explained);
  CHECK(seconds(explained.iteration) == support::near(44.000004, 1e-9));
  REQUIRE(explained.shares.front().resource == stage(1));
  CHECK(seconds(explained.shares.front().time) == support::near(40));
  CHECK(explained.shares.front().share == support::near(40 / 44.000004));
  CHECK(seconds(*explained.shares.front().without) == support::near(10, 1e-6));
  CHECK(seconds(share(explained, stage(0)).time) == support::near(2));
  CHECK(seconds(share(explained, stage(2)).time) == support::near(2));
  CHECK(time_of(explained, PathKind::transfer) == support::near(4e-6));
  CHECK(explained.path.front().what == "forward of micro-batch 0 on stage 0, device 0");
  CHECK(explained.path.front().cause == StartCause::begin);
  CHECK(explained.path.front().device == DeviceId(0));
  CHECK_FALSE(explained.path[1].device.valid());
  CHECK(explained.shares.front().name == "stage 1, device 1");
  CHECK(explained.path[1].what == "micro-batch 0 of stage 0, device 0 to 1");
  CHECK(explained.path[1].cause == StartCause::data);
  CHECK(explained.path[3].cause == StartCause::device);
}

TEST_CASE("time of a transfer beyond its undisturbed time is charged to the shared link") {
  // Stages a and b feed c, 1 s each; 1 kB at 1 kB/s. Both arrive over the cable of device 2, each with half
  // of it: 2 s, of which 1 s is contention, and so back. The sum is 1 + 2 + 1 + 1 + 2 + 1 = 8 s. Without
  // contention, the narrowest link is the sender's own cable.
  const auto cluster = support::tiny_cluster(3, 1 << 30, 1000);
  const auto c = staged({{0, 2}, {1, 2}}, {1, 1, 1}, cluster, 1);
  const auto fair = c.explained();
  check_tiles(fair);
  CHECK(seconds(fair.iteration) == support::near(8));
  CHECK(time_of(fair, PathKind::transfer) == support::near(2));
  CHECK(time_of(fair, PathKind::contention) == support::near(2));
  for (const auto& entry : fair.path)
    if (entry.kind == PathKind::contention) {
      const cluster::Link& link = cluster.links()[entry.resource.index];
      CHECK((link.from == 2 || link.to == 2));
    }
  // One after the other: the second waits for the link that the first holds, and both are on the path.
  const auto fifo = c.explained({sim::NetworkModel::fifo});
  check_tiles(fifo);
  CHECK(seconds(fifo.iteration) == support::near(8));
  CHECK(time_of(fifo, PathKind::contention) == 0);
  CHECK(time_of(fifo, PathKind::transfer) == support::near(4));
  CHECK(std::count_if(fifo.path.begin(), fifo.path.end(),
                      [](const auto& e) { return e.cause == StartCause::link; }) == 2);
}

TEST_CASE("without a stage all its replicas are gone, not one that the others would be waited for") {
  // One stage of four replicas, 1 s forward and 1 s backward each; no gradients to reduce: 2 s, and nothing
  // without it. Were only one replica faster, the other three would still take 2 s.
  auto c = staged({}, {1}, support::tiny_cluster(4), 1);
  c.plan.training.mini_batch = 4;
  c.plan.stages[0].devices = {DeviceId(0), DeviceId(1), DeviceId(2), DeviceId(3)};
  c.plan.stages[0].micro_batch = c.plan.stages[0].in_flight = 4;
  const auto explained = c.explained();
  CHECK(seconds(explained.iteration) == support::near(2, 1e-6));
  REQUIRE(explained.shares.front().resource == stage(0));
  CHECK(explained.shares.front().name == "stage 0, devices 0 to 3");
  CHECK(seconds(*explained.shares.front().without) < 1e-9);
  CHECK(explained.path.front().device.valid());
}

TEST_CASE("a latency-bound chain would be fast without latency") {
  // Two cables of 2 s latency: 1 + 4 + 1 + 1 + 4 + 1 = 12 s, and 4 s without.
  const auto explained = staged({{0, 1}}, {1, 1}, support::tiny_cluster(2, 1 << 30, 1e15, 2), 1).explained();
  check_tiles(explained);
  CHECK(seconds(explained.iteration) == support::near(12));
  CHECK(explained.shares.front().name == "latency");
  CHECK(seconds(explained.shares.front().time) == support::near(8));
  CHECK(seconds(*explained.shares.front().without) == support::near(4));
}

TEST_CASE("an all-reduce at the end is on the path, as a whole or message by message") {
  // Two replicas, 1 s forward and backward, gradients of 1 kB at 1 kB/s: 1 s either way, then a step of
  // picoseconds.
  graph::GraphBuilder builder("one");
  builder.add(support::unit_op("a", 1e9, 250));
  ExplainCase c{
      builder.build(), support::tiny_cluster(2, 1 << 30, 1000), support::FixedCosts::uniform(1, 1, 1), {}};
  c.plan.training.mini_batch = 2;
  c.plan.stages = {{{OpId(0)}, {DeviceId(0), DeviceId(1)}, 2, 1, 2, {}}};
  const auto closed = c.explained();
  check_tiles(closed);
  CHECK(time_of(closed, PathKind::reduce) == support::near(1));
  CHECK(seconds(*share(closed, {LimitingResource::ResourceKind::reduction, 0}).without) == support::near(2));
  CHECK(closed.path.back().kind == PathKind::step);
  const auto ring = c.explained({sim::NetworkModel::fair, sim::collective("ring")});
  check_tiles(ring);
  CHECK(time_of(ring, PathKind::reduce) == support::near(1));
  for (const auto& entry : ring.path)
    if (entry.kind == PathKind::reduce) CHECK(entry.resource.kind == LimitingResource::ResourceKind::link);
}

TEST_CASE("a receiver without a free buffer holds a transfer back") {
  // Stage 1 holds one micro-batch and may receive one ahead: the transfer of micro-batch 2 waits for the end
  // of backward 0.
  auto c = staged({{0, 1}}, {1, 10}, support::tiny_cluster(2, 1 << 30, 1000), 4);
  c.plan.schedule = "1f1b";
  c.plan.stages[0].in_flight = 4, c.plan.stages[1].in_flight = 1;
  const auto iteration = sim::prepare(c.problem(), {c.problem().graph, c.plan}, {});
  const auto times = sim::run(iteration.graph, sim::NetworkModel::fair);
  int held = 0;
  // Passes of stage 0 follow each other without a gap, so these transfers are not on the critical path. Each
  // is made the last to end, so that the walk starts from it.
  for (std::size_t t = 0; t < iteration.graph.tasks.size(); ++t) {
    const sim::Task task = iteration.graph.tasks[t];
    if (task.kind != trace::TaskKind::transfer || task.stage != core::StageId(0) || task.micro_batch < 2)
      continue;
    sim::TaskTimes until = times;
    until.end[t] = times.makespan + 1;
    const auto path = sim::critical_path(iteration.graph, until);
    CHECK(path.back().task == static_cast<sim::TaskId>(t));
    CHECK(path.back().cause == StartCause::buffer);
    ++held;
  }
  CHECK(held == 2);
}

TEST_CASE("a path is shown in the given number of runs, and the runs tile it") {
  const auto explained = staged({{0, 1}, {1, 2}}, {1, 5, 1}, support::tiny_cluster(3), 4).explained();
  for (const std::size_t most : {1, 2, 3, 5, 20}) {
    const auto runs = sim::compressed(explained, most);
    CHECK(runs.size() <= most);
    CHECK(runs.front().first == 0);
    CHECK(runs.back().last + 1 == explained.path.size());
    for (std::size_t r = 1; r < runs.size(); ++r) CHECK(runs[r].first == runs[r - 1].last + 1);
  }
  const auto one = sim::compressed(explained, 1).front();
  CHECK(explained.path[one.main].resource == stage(1));
  CHECK(seconds(one.main_time) == support::near(40));
  // F on 0, transfer, four Fs on 1, transfer, F and B on 2, transfer, four Bs on 1, transfer, B on 0: nine
  // runs.
  CHECK(sim::compressed(explained, 20).size() == 9);
}

TEST_CASE("settings that are never used are reported") {
  auto c = staged({{0, 1}}, {1, 1}, support::tiny_cluster(3), 2);
  const auto lines = [&](const sim::SimulationOptions& options) {
    return sim::unused(c.problem(), {c.problem().graph, c.plan}, options);
  };
  CHECK(lines({}) == std::vector<std::string>{"device 2 (2) serves no stage"});
  c.plan.stages[1].in_flight = 3;
  c.plan.training.bucket = core::Bytes(1);
  const auto told = lines({sim::NetworkModel::fair, sim::collective("ring")});
  REQUIRE(told.size() == 4);
  CHECK(told[0] == "collective ring is set, but no stage has replicas with gradients to reduce");
  CHECK(told[1] == "bucket 1.00 B is set, but no stage has replicas with gradients to reduce");
  CHECK(told[3] == "stage 1: in_flight 3 is more than the 2 samples that the order ever holds");
}

TEST_CASE("a given route that nothing takes is reported") {
  const auto parts = support::tiny_cluster(3);
  const auto with = [&](std::size_t from, std::size_t to) {
    const cluster::Cluster cluster("given", parts.types(), parts.devices(), 1, parts.links(), parts.points(),
                                   {{from, to, {2 * from, 2 * to + 1}}});
    auto c = staged({{0, 1}, {1, 2}}, {1, 1, 1}, cluster, 2);
    return sim::unused(c.problem(), {c.problem().graph, c.plan});
  };
  CHECK(with(0, 1).empty());
  CHECK(with(1, 0).empty());
  CHECK(with(0, 2) == std::vector<std::string>{"the route given from 0 to 2 is taken by nothing"});
}

namespace {

std::optional<plan::Plan> random_plan(std::uint64_t seed, const cost::Problem& problem) {
  planners::SearchOptions options;
  options.per_stage_micro_batch = seed % 2 == 0;
  options.any_degree = true;
  try {
    return planners::planner(seed % 3 == 0 ? "spp" : "graphpipe").plan(problem, options, {}).plan;
  } catch (const core::Infeasible&) {
    return {};
  }
}

}  // namespace

TEST_CASE("on random problems every path tiles its run, whatever the network and the collective") {
  int paths = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    CAPTURE(seed);
    const auto random = support::random_problem(seed);
    const cost::Problem problem = random.problem();
    const auto plan = random_plan(seed, problem);
    if (!plan) continue;
    const auto order = schedule::plan_order(*plan);
    const auto perturbation = sim::parse_perturbation(
        "devices: [{device: 0, speed: 0.5}]\n"
        "jitter: {forward: {lognormal: 20%}, transfer: {uniform: 30%}}\n",
        "world.yaml", problem.cluster);
    for (const auto network : {sim::NetworkModel::fifo, sim::NetworkModel::fair})
      for (const auto collective : {sim::collective("closed_form"), sim::collective("automatic")}) {
        sim::SimulationOptions options{network, collective};
        if (seed % 4 == 1) options.perturbation = &perturbation;
        const auto explained = sim::explain(problem, {problem.graph, *plan, order}, options, 1);
        check_tiles(explained);
        CHECK(explained.iteration == sim::simulate_time(problem, {problem.graph, *plan, order}, options));
        ++paths;
      }
  }
  CHECK(paths >= 200);
}

TEST_CASE("where transfers do not meet, only what is on the path counts") {
  // Links so wide that a transfer takes no time: the iteration is the longest path of a graph. A task on the
  // path that takes d longer makes it exactly d longer. All tasks off the path may take no time, and it stays
  // what it is.
  int changed = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    const auto random = support::random_problem(seed);
    const auto wide = support::tiny_cluster(random.cluster.size(), std::int64_t{1} << 40, 1e18);
    const cost::Problem problem{random.graph, wide, random.costs, random.training};
    const auto plan = random_plan(seed, problem);
    if (!plan) continue;
    const auto iteration = sim::prepare(problem, {problem.graph, *plan}, {sim::NetworkModel::fifo});
    const auto times = sim::run(iteration.graph, sim::NetworkModel::fifo);
    std::set<sim::TaskId> on_path;
    for (const auto& step : sim::critical_path(iteration.graph, times)) on_path.insert(step.task);
    sim::TaskGraph shorter = iteration.graph;
    for (std::size_t t = 0; t < shorter.tasks.size(); ++t)
      if (!on_path.contains(static_cast<sim::TaskId>(t))) shorter.tasks.set_duration(t, 0);
    CHECK(sim::run(shorter, sim::NetworkModel::fifo).makespan == times.makespan);
    for (const sim::TaskId task : on_path) {
      if (iteration.graph.task(task).travels()) continue;
      sim::TaskGraph longer = iteration.graph;
      longer.tasks.set_duration(static_cast<std::size_t>(task), longer.task(task).duration + 12345);
      CHECK(sim::run(longer, sim::NetworkModel::fifo).makespan == times.makespan + 12345);
      if (++changed % 8 == 0) break;
    }
    for (const auto& share : sim::explain(problem, {problem.graph, *plan}, {sim::NetworkModel::fifo}).shares)
      if (share.without) CHECK(*share.without <= Picoseconds(times.makespan));
  }
  CHECK(changed >= 100);
}
