// Lanes of groups: the time of one is that of the whole plan, to the picosecond.

#include "alike_lanes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "alike_copies.hpp"
#include "models/catalogue.hpp"
#include "penstock/core/random.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/score/order.hpp"
#include "penstock/sim/simulate.hpp"

using namespace penstock;

namespace {

/// A row of stages, each of replicas of `context` times `tensor` devices that follow each other.
struct LaneShape {
  std::size_t stages = 2;
  std::int64_t replicas = 1;
  int tensor = 8, context = 1;
  std::int64_t micro_batches = 512;
};

plan::Plan row(const graph::OpGraph& graph, const LaneShape& shape) {
  plan::Plan out;
  out.training.mini_batch = shape.replicas * shape.micro_batches;
  std::size_t next = 0;
  for (std::size_t s = 0; s < shape.stages; ++s) {
    plan::Stage stage;
    for (std::size_t op = graph.size() * s / shape.stages; op < graph.size() * (s + 1) / shape.stages; ++op)
      stage.operators.emplace_back(op);
    for (std::int64_t d = 0; d < shape.replicas * shape.tensor * shape.context; ++d)
      stage.devices.emplace_back(next++);
    stage.micro_batch = shape.replicas;
    stage.tensor_parallel = shape.tensor;
    stage.context_parallel = shape.context;
    if (s > 0) stage.after = {core::StageId(s - 1)};
    out.stages.push_back(std::move(stage));
  }
  return out;
}

graph::OpGraph small_llama(int hidden = 64) {
  return models::build("llama", {{"layers", "4"},
                                 {"hidden", std::to_string(hidden)},
                                 {"heads", "8"},
                                 {"kv_heads", "8"},
                                 {"feed_forward", "128"},
                                 {"sequence", "32"},
                                 {"vocabulary", "128"}});
}

struct LaneTimes {
  core::Picoseconds alone, whole;
  std::int64_t lanes = 1;
};

LaneTimes judged(const cost::Problem& problem, plan::Plan plan, const sim::SimulationOptions& options = {}) {
  score::derive_in_flight(problem, plan);
  const auto scheduled = score::scheduled(problem, plan);
  const auto copy = sim::one_copy(problem, scheduled.plan, options);
  const auto lane = sim::one_lane(problem, scheduled.stages, copy ? copy->plan : scheduled.plan, options);
  return {sim::simulate_time(problem, scheduled, options),
          sim::simulate(problem, scheduled, options).iteration,
          lane ? plan.stages.front().replica_size() / lane->stages.front().replica_size() : 1};
}

const cost::AnalyticCosts kCosts;

}  // namespace

TEST_CASE("groups of a node, or of several, are lanes of a device where each has a rail of its own") {
  const auto graph = small_llama();
  const auto lanes = [&](const LaneShape& shape, const std::string& cluster) {
    const auto plan = row(graph, shape);
    const auto network = cluster::load_cluster(cluster);
    const LaneTimes out = judged({graph, network, kCosts, plan.training}, plan);
    CHECK(out.alone == out.whole);
    return out.lanes;
  };
  CHECK(lanes({.stages = 4}, "8xH100x4-rails") == 8);
  CHECK(lanes({.stages = 4, .tensor = 4}, "8xH100x2-rails") == 4);
  CHECK(lanes({.stages = 2, .tensor = 8, .context = 4}, "8xH100x8-rails") == 32);
  CHECK(lanes({.stages = 4, .replicas = 2}, "8xH100x8-rails") == 8);
  CHECK(lanes({.stages = 4}, "8xH100x4") == 1);                // one uplink of a node for all
  CHECK(lanes({.tensor = 8, .context = 2}, "8xH100x4") == 2);  // but one for each node of a group
  CHECK(lanes({.stages = 4, .tensor = 2}, "8xH100x1") == 2);   // all within a node
}

TEST_CASE("groups whose members have more or less to do, or send unequal parts, are left whole") {
  const auto graph = small_llama();
  const auto network = cluster::load_cluster("8xH100x2-rails");
  const LaneShape shape;
  plan::Plan plan = row(graph, shape);
  const cost::Problem problem{graph, network, kCosts, plan.training};
  REQUIRE(judged(problem, plan).lanes == 8);
  const auto lanes = [&](const plan::Plan& changed) {
    const LaneTimes out = judged({graph, network, kCosts, changed.training}, changed);
    CHECK(out.alone == out.whole);
    return out.lanes;
  };
  plan::Plan unequal = plan;
  unequal.stages.front().shares = {2, 1, 1, 1, 1, 1, 1, 1};
  CHECK(lanes(unequal) == 1);
  plan::Plan compressed = plan;
  compressed.training.compression.activations = 0.3;
  CHECK(lanes(compressed) == 1);
  plan::Plan odd = plan;
  odd.stages.front().devices.resize(3);
  odd.stages.front().tensor_parallel = 3;  // none of eight in common
  CHECK(lanes(odd) == 1);
  plan::Plan few = row(graph, {.micro_batches = 4});
  CHECK(lanes(few) == 1);  // looking would take longer than it spares
  plan.training.mini_batch = 512;
  sim::SimulationOptions links;
  links.pass_collectives = sim::PassCollectives::links;
  CHECK(judged(problem, plan, links).lanes == 1);
}

TEST_CASE("groups of unlike sizes are lanes of every so-manyth member") {
  const auto graph = small_llama();
  const auto lanes = [&](int first, int second, const std::string& cluster) {
    plan::Plan plan = row(graph, {.stages = 3, .micro_batches = 4096});
    plan.stages[0].tensor_parallel = first;  // of eight devices each: as many replicas as that leaves
    plan.stages[1].tensor_parallel = second;
    for (plan::Stage& stage : plan.stages) stage.micro_batch = 8;
    const auto network = cluster::load_cluster(cluster);
    const LaneTimes out = judged({graph, network, kCosts, plan.training}, plan);
    CHECK(out.alone == out.whole);
    return out.lanes;
  };
  CHECK(lanes(4, 8, "8xH100x3-rails") == 4);
  CHECK(lanes(4, 2, "8xH100x3-rails") == 2);
  CHECK(lanes(8, 1, "8xH100x3-rails") == 1);
  CHECK(lanes(4, 8, "8xH100x3") == 1);  // one uplink of a node for all
}

TEST_CASE("random rows of groups: one lane takes as long as all") {
  const auto graph = small_llama();
  int folded = 0, folded_unlike = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    core::Random random(seed);
    const LaneShape shape{std::size_t{1} << random.between(0, 2), 1 << random.between(0, 1),
                          2 << random.between(0, 2), 1 << random.between(0, 2), 512};
    plan::Plan plan = row(graph, shape);
    const bool unlike = random.chance(0.4);
    if (unlike) plan.training.mini_batch *= 4;
    for (plan::Stage& stage : plan.stages) {
      if (unlike && stage.tensor_parallel > 2 && random.chance(0.5)) stage.tensor_parallel /= 2;
      if (unlike) stage.micro_batch = shape.replicas * 4;
      stage.zero = random.between(0, 3);
      if (random.chance(0.3)) stage.recompute.of = plan::Recomputation::SegmentScope::stage;
      stage.sequence_parallel = random.chance(0.5);
      stage.context_exchange =
          random.chance(0.5) ? plan::ContextExchange::ring : plan::ContextExchange::all_gather;
    }
    if (random.chance(0.3)) plan.schedule = "gpipe";
    plan.training.bucket = core::Bytes(random.chance(0.5) ? 10'000 : 0);
    const std::size_t devices =
        shape.stages * static_cast<std::size_t>(shape.replicas * shape.tensor * shape.context);
    const auto cluster = cluster::load_cluster("8xA100-40x" + std::to_string((devices + 7) / 8) +
                                               (random.chance(0.7) ? "-rails" : ""));
    sim::SimulationOptions options;
    options.network = random.chance(0.5) ? sim::NetworkModel::fair : sim::NetworkModel::fifo;
    const auto out = judged({graph, cluster, kCosts, plan.training}, plan, options);
    CHECK(out.alone == out.whole);
    folded += out.lanes > 1;
    const auto replicas = [&](const plan::Stage& stage) {
      return stage.replicas() != plan.stages[0].replicas();
    };
    folded_unlike += out.lanes > 1 && std::ranges::any_of(plan.stages, replicas);
  }
  CHECK(folded > 20);
  CHECK(folded_unlike > 3);
}
