// Copies that run side by side: the time of one is that of the whole plan, to the picosecond.

#include "alike_copies.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

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
struct HybridRow {
  std::size_t stages = 2;
  std::int64_t copies = 4, replicas = 1;
  int tensor = 1;
  std::int64_t samples = 1;  ///< of a replica at a time
};

plan::Plan row(const graph::OpGraph& graph, const HybridRow& shape) {
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

/// Equal devices, switches, and the cables between them, in this order.
struct CableList {
  std::vector<std::string> devices;
  std::string switches;
  std::vector<std::pair<std::string, std::string>> ends{};
  void add(const std::string& from, const std::string& to) { ends.emplace_back(from, to); }
  cluster::Cluster cluster() const {
    std::string text =
        "name: cables\ndevice_types:\n  d: {memory: 16GiB, memory_bandwidth: 900GB/s, multiprocessors: 80, "
        "launch_overhead: 5us, peak: {fp32: 10TFLOP/s}}\nmachines:\n";
    for (const std::string& device : devices) text += "  - {name: " + device + ", device: d}\n";
    text += "switches: [" + switches + "]\nlinks:\n";
    for (const auto& [from, to] : ends)
      text += "  - {from: " + from + ", to: " + to + ", bandwidth: 1GB/s, latency: 1us, both_ways: true}\n";
    return cluster::parse_cluster(text, "cables.yaml");
  }
};

struct CopyTimes {
  core::Picoseconds alone, whole;
  std::int64_t copies = 1;
};

CopyTimes judged(const cost::Problem& problem, plan::Plan plan, const sim::SimulationOptions& options = {}) {
  score::derive_in_flight(problem, plan);
  const auto scheduled = score::scheduled(problem, plan);
  const auto copy = sim::one_copy(problem, scheduled.plan, options);
  return {sim::simulate_time(problem, scheduled, options),
          sim::simulate(problem, scheduled, options).iteration,
          copy ? plan.training.mini_batch / copy->plan.training.mini_batch : 1};
}

}  // namespace

TEST_CASE("replicas on nodes of their own are as many copies; two that share an uplink are one") {
  const auto graph = small_gpt();
  const cost::AnalyticCosts costs;
  const auto copies = [&](const char* machine, const HybridRow& shape) {
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

TEST_CASE("on rails a copy is as many nodes as its devices need, whichever of them its replicas have") {
  const auto graph = small_gpt();
  const cost::AnalyticCosts costs;
  const auto copies = [&](const cluster::Cluster& cluster, const plan::Plan& plan) {
    const auto out = judged({graph, cluster, costs, plan.training}, plan);
    CHECK(out.alone == out.whole);
    return out.copies;
  };
  const auto machine = cluster::load_cluster("4xH100x8-rails");
  CHECK(copies(machine, row(graph, {2, 4, 1, 4})) == 4);             // a node each
  CHECK(copies(machine.first(16), row(graph, {2, 2, 1, 4})) == 2);   // other copies are not compared
  CHECK(copies(machine.first(16), row(graph, {2, 4, 1, 2})) == 2);   // two groups of a node share its switch
  CHECK(copies(machine.first(16), row(graph, {1, 16, 1, 1})) == 4);  // devices of a node do
  // Two stages on two devices of every node become one, on those of the first and then of the second.
  plan::Plan merged = row(graph, {1, 16, 1, 2});
  for (std::size_t d = 0; d < 32; ++d)
    merged.stages[0].devices[d] = DeviceId(d / 2 % 8 * 4 + d / 16 * 2 + d % 2);
  CHECK(copies(machine, merged) == 8);
}

TEST_CASE("replicas that share weights with neighbours keep their order, on whichever node these are") {
  const auto graph = small_gpt();
  const cost::AnalyticCosts costs;
  const auto cluster = cluster::load_cluster("4xH100x2");
  const auto taken = [&](int zero, std::int64_t over, bool far) {
    plan::Plan plan = row(graph, {1, 8, 1, 1});
    for (std::size_t d = 0; far && d < 8; ++d) plan.stages[0].devices[d] = DeviceId(d / 2 + d % 2 * 4);
    plan.stages[0].zero = zero, plan.stages[0].zero_over = over;
    const auto out = judged({graph, cluster, costs, plan.training}, plan);
    CHECK(out.alone == out.whole);
    return out.whole;
  };
  for (const int zero : {1, 2, 3}) {
    CHECK(taken(zero, 0, true) == taken(zero, 0, false));  // all share
    CHECK(taken(zero, 4, true) > taken(zero, 4, false));   // every four are on two nodes, or on one
  }
}

TEST_CASE("copies whose replicas do not follow each other take what their own devices take") {
  const auto graph = small_gpt();
  const cost::AnalyticCosts costs;
  const auto plain = cluster::load_cluster("4xH100x1");
  cluster::DeviceType slow = plain.types().front();
  slow.kernel_slowdown = 3;
  auto devices = plain.devices();
  for (const std::size_t d : {2, 3}) devices[d].type = 1;
  const cluster::Cluster cluster("two fast, two slow", {plain.types().front(), slow}, devices, 2,
                                 plain.links());
  const plan::Plan plan = row(graph, {1, 4, 1, 1});
  const auto out = judged({graph, cluster, costs, plan.training}, plan);
  CHECK(out.alone == out.whole);
  CHECK(out.copies == 2);
}

TEST_CASE("where the shortest way between a copy's devices may lead over another, all copies count") {
  const auto graph = small_gpt();
  const cost::AnalyticCosts costs;
  // From a1 to b1, and from a2 to b2: over one hub, either z and the other hub; or five links of their own.
  CableList cables{{"a1", "a2", "b1", "b2"}, "hub, other, z1, z2, p1, q1, r1, s1, p2, q2, r2, s2"};
  for (const std::string k : {"1", "2"}) {
    cables.add("a" + k, "hub");
    cables.add("z" + k, "hub");
    cables.add("z" + k, "other");
    cables.add("b" + k, "other");
    for (const auto& [from, to] : {std::pair{"a", "p"}, {"p", "q"}, {"q", "r"}, {"r", "s"}, {"s", "b"}})
      cables.add(from + k, to + k);
  }
  const auto cluster = cables.cluster();
  const plan::Plan plan = row(graph, {2, 2, 1, 1});
  const auto out = judged({graph, cluster, costs, plan.training}, plan);
  CHECK(out.alone == out.whole);
  CHECK(out.copies == 1);
}

TEST_CASE("copies that take different ones of two equally long routes are not equal") {
  const auto graph = small_gpt();
  const cost::AnalyticCosts costs;
  // From s to t over x or y, whichever is listed first. Over x comes the gradient that u sends to t, too.
  const auto copies = [&](const std::string& first_of_two) {
    const std::string second_of_two = first_of_two == "x" ? "y" : "x";
    CableList cables{{"s1", "s2", "t1", "t2", "u1", "u2"}, "hub, x1, y1, x2, y2"};
    const auto add = [&](const std::string& k, const std::string& first, const std::string& second) {
      cables.add("s" + k, "hub");
      cables.add("hub", first + k);
      cables.add("hub", second + k);
      for (const auto& [from, to] : {std::pair{"x", "t"}, {"y", "t"}, {"x", "u"}})
        cables.add(from + k, to + k);
    };
    add("1", "y", "x");
    add("2", first_of_two, second_of_two);
    const auto cluster = cables.cluster();
    const plan::Plan plan = row(graph, {3, 2, 1, 1});
    const auto out = judged({graph, cluster, costs, plan.training}, plan);
    CHECK(out.alone == out.whole);
    return out.copies;
  };
  CHECK(copies("x") == 1);
  CHECK(copies("y") == 2);
}

TEST_CASE("communication that copies share is simulated whole") {
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
    const HybridRow shape{std::size_t{1} << random.between(0, 2), 1 << random.between(0, 2),
                          1 << random.between(0, 1), 1 << random.between(0, 2), random.between(1, 2)};
    plan::Plan plan = row(graph, shape);
    for (plan::Stage& stage : plan.stages) {
      stage.zero = random.between(0, 3);
      if (random.chance(0.3)) stage.recompute.of = plan::Recomputation::SegmentScope::stage;
      stage.sequence_parallel = stage.tensor_parallel > 1 && random.chance(0.5);
    }
    if (random.chance(0.3)) plan.schedule = "gpipe";
    plan.training.bucket = core::Bytes(random.chance(0.5) ? 10'000 : 0);
    const int nodes = static_cast<int>(
        (shape.stages * static_cast<std::size_t>(shape.copies * shape.replicas * shape.tensor) + 3) / 4);
    const auto cluster =
        cluster::load_cluster("4xA100-40x" + std::to_string(nodes) + (random.chance(0.5) ? "-rails" : ""));
    sim::SimulationOptions options;
    options.network = random.chance(0.5) ? sim::NetworkModel::fair : sim::NetworkModel::fifo;
    CAPTURE(seed);
    const auto out = judged({graph, cluster, costs, plan.training}, plan, options);
    CHECK(out.alone == out.whole);
    folded += out.copies > 1;
  }
  CHECK(folded > 20);
}
