// Copies that run side by side: the time of one is that of the whole plan, to the picosecond.

#include "alike_copies.hpp"

#include <doctest/doctest.h>

#include "models/catalogue.hpp"
#include "penstock/core/random.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/score/order.hpp"
#include "penstock/sim/perturbation.hpp"
#include "penstock/sim/simulate.hpp"
#include "support/fixed_costs.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using core::DeviceId;

namespace {

/// A row of stages, each of `copies` times `replicas` groups of `tensor` devices that follow each other.
struct Hybrid {
  std::size_t stages = 2;
  std::int64_t copies = 4, replicas = 1;
  int tensor = 1;
  std::int64_t samples = 1;  ///< of a replica at a time
};

plan::Plan row(const graph::OpGraph& graph, const Hybrid& shape) {
  plan::Plan out;
  const std::int64_t all = shape.copies * shape.replicas;
  out.training.mini_batch = all * shape.samples * 4;
  std::size_t next = 0;
  for (std::size_t s = 0; s < shape.stages; ++s) {
    plan::Stage stage;
    for (std::size_t op = graph.size() * s / shape.stages; op < graph.size() * (s + 1) / shape.stages; ++op)
      stage.operators.emplace_back(op);
    for (std::int64_t d = 0; d < all * shape.tensor; ++d) stage.devices.emplace_back(next++);
    stage.micro_batch = all * shape.samples;
    stage.tensor_parallel = shape.tensor;
    if (s > 0) stage.after = {core::StageId(s - 1)};
    out.stages.push_back(std::move(stage));
  }
  return out;
}

graph::OpGraph small_gpt() {
  return models::build(
      "gpt", {{"layers", "4"}, {"hidden", "64"}, {"heads", "4"}, {"sequence", "32"}, {"vocabulary", "128"}});
}

struct Judged {
  core::Picoseconds alone, whole;
  std::int64_t copies = 1;
};

Judged judged(const cost::Problem& problem, plan::Plan plan, const sim::SimulationOptions& options = {}) {
  score::derive_in_flight(problem, plan);
  const auto scheduled = score::scheduled(problem, plan);
  const auto copy = sim::one_copy(problem, scheduled.plan, options);
  return {sim::simulate_time(problem, scheduled, options),
          sim::simulate(problem, scheduled, options).iteration,
          copy ? plan.training.mini_batch / copy->training.mini_batch : 1};
}

}  // namespace

TEST_CASE("replicas on nodes of their own are as many copies; two that share an uplink are one") {
  const auto graph = small_gpt();
  const cost::AnalyticCosts costs;
  const auto copies = [&](const char* machine, const Hybrid& shape) {
    const auto cluster = cluster::load_cluster(machine);
    const plan::Plan plan = row(graph, shape);
    const auto out = judged({graph, cluster, costs, plan.training}, plan);
    CHECK(out.alone == out.whole);
    return out.copies;
  };
  CHECK(copies("4xH100x8", {2, 4, 1, 4}) == 4);   // a node each
  CHECK(copies("4xH100x4", {2, 4, 1, 2}) == 2);   // two groups of a node send over one uplink
  CHECK(copies("4xH100x4", {1, 16, 1, 1}) == 4);  // devices of a node may send over one uplink
  CHECK(copies("4xH100x4", {4, 1, 1, 4}) == 1);
}

TEST_CASE("what copies have together is left whole") {
  const auto graph = small_gpt();
  const cost::AnalyticCosts costs;
  const auto cluster = cluster::load_cluster("4xH100x8");
  plan::Plan plan = row(graph, {2, 4, 1, 4});
  const cost::Problem problem{graph, cluster, costs, plan.training};
  const auto copies = [&](const sim::SimulationOptions& options) {
    return judged(problem, plan, options).copies;
  };
  CHECK(copies({}) == 4);
  sim::SimulationOptions ring;
  ring.collective = sim::collective("ring");
  CHECK(copies(ring) == 1);
  sim::SimulationOptions links;
  links.pass_collectives = sim::PassCollectives::links;
  CHECK(copies(links) == 1);
  plan.stages[1].micro_batch *= 2;  // samples of one copy go to two
  CHECK(copies({}) == 1);
}

TEST_CASE("random rows of stages: one copy takes as long as all") {
  const auto graph = small_gpt();
  const cost::AnalyticCosts costs;
  int folded = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    core::Random random(seed);
    const Hybrid shape{std::size_t{1} << random.between(0, 2), 1 << random.between(0, 2),
                       1 << random.between(0, 1), 1 << random.between(0, 2), random.between(1, 2)};
    plan::Plan plan = row(graph, shape);
    for (plan::Stage& stage : plan.stages) {
      stage.zero = random.between(0, 3);
      if (random.chance(0.3)) stage.recompute.of = plan::Recomputation::Of::stage;
      stage.sequence_parallel = stage.tensor_parallel > 1 && random.chance(0.5);
    }
    if (random.chance(0.3)) plan.schedule = "gpipe";
    plan.training.bucket = core::Bytes(random.chance(0.5) ? 10'000 : 0);
    const int nodes = static_cast<int>(
        (shape.stages * static_cast<std::size_t>(shape.copies * shape.replicas * shape.tensor) + 3) / 4);
    const auto cluster = cluster::load_cluster("4xA100-40x" + std::to_string(nodes));
    sim::SimulationOptions options;
    options.network = random.chance(0.5) ? sim::NetworkModel::fair : sim::NetworkModel::fifo;
    CAPTURE(seed);
    const auto out = judged({graph, cluster, costs, plan.training}, plan, options);
    CHECK(out.alone == out.whole);
    folded += out.copies > 1;
  }
  CHECK(folded > 20);
}
