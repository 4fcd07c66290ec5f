// Devices of a node slow each other down while they compute.

#include <doctest/doctest.h>

#include "penstock/check/trace_faults.hpp"
#include "penstock/sim/simulate.hpp"
#include "support/crowded_costs.hpp"
#include "support/fixed_costs.hpp"
#include "support/near.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using core::DeviceId;
using core::OpId;

namespace {

/// [arithmetic, memory] beside [arithmetic, memory].
constexpr double kProductBesideAddition = 1.2, kAdditionBesideProduct = 1.1;
cost::Crowding::Table two_devices() {
  return {{{{{1}, {kProductBesideAddition}}}, {{{kAdditionBesideProduct}, {2}}}}};
}

/// Devices of these nodes.
cluster::Cluster on_nodes(const std::vector<int>& nodes) {
  const auto plain = support::tiny_cluster(nodes.size());
  auto devices = plain.devices();
  for (std::size_t d = 0; d < nodes.size(); ++d) devices[d].node = nodes[d];
  return cluster::Cluster("nodes", plain.types(), devices, 1, plain.links());
}

/// One operator each; forward and backward `seconds` long, one micro-batch; nobody waits for anybody.
struct Apart {
  graph::OpGraph graph;
  cluster::Cluster cluster;
  support::FixedCosts plain;
  support::CrowdedCosts costs;
  plan::Plan plan;

  Apart(const std::vector<double>& seconds, const std::vector<double>& memory_share,
        const cost::Crowding::Table& table, const std::vector<int>& nodes)
      : graph(support::tiny_graph(seconds.size(), {})),
        cluster(on_nodes(nodes)),
        plain(seconds, seconds),
        costs(plain, table, memory_share) {
    plan.schedule = "gpipe";
    plan.training.mini_batch = 1;
    for (std::size_t s = 0; s < seconds.size(); ++s)
      plan.stages.push_back({{OpId(s)}, {DeviceId(s)}, 1, 1, 1, {}});
  }

  /// When each device is done with forward and backward pass, in seconds.
  std::vector<double> ends(const sim::SimulationOptions& options = {}) const {
    const cost::Problem problem{graph, cluster, costs, plan.training};
    const schedule::ScheduledPlan scheduled{graph, plan};
    const auto trace = sim::simulate(problem, scheduled, options);
    for (const auto& fault : check::trace_faults(problem, scheduled, trace, options)) FAIL_CHECK(fault);
    std::vector<double> out(cluster.size());
    for (const auto& span : trace.spans)
      out[span.device.index()] = std::max(out[span.device.index()], to_seconds(span.end).value());
    return out;
  }
};

}  // namespace

TEST_CASE("two devices that want all of the memory get half of it each") {
  // Forward 1 s and backward 1 s take twice as long from beginning to end.
  const auto ends = Apart({1, 1}, {1, 1}, two_devices(), {0, 0}).ends();
  CHECK(ends[0] == support::near(4));
  CHECK(ends[1] == support::near(4));
}

TEST_CASE("unequal passes slow each other by what each does beside what the other does") {
  // Device 0 moves bytes, 1 s forward and 1 s backward; device 1 does so half of its time, 2 s and 2 s.
  // Device 0 takes 1 + 1/2 x 0.1 + 1/2 x 1 = 1.55 times as long, so it is done at 3.1 s. Until then device 1
  // takes 1 + 1/2 x 0.2 + 1/2 x 1 = 1.6 times as long: of its 4 s of work 3.1 / 1.6 = 1.9375 s are done, the
  // rest takes 2.0625 s alone.
  const auto ends = Apart({1, 2}, {1, 0.5}, two_devices(), {0, 0}).ends();
  CHECK(ends[0] == support::near(3.1));
  CHECK(ends[1] == support::near(5.1625));
}

TEST_CASE("the slowdown beside two neighbours is the one measured beside two") {
  const cost::Crowding::Table three = {{{{{}, {}}}, {{{}, {1.5, 3}}}}};
  const auto ends = Apart({1, 1, 1}, {1, 1, 1}, three, {0, 0, 0}).ends();
  for (const double end : ends) CHECK(end == support::near(6));
}

TEST_CASE("neighbours that use half as much count as half as many") {
  // Beside two neighbours that are at the memory half of their time each, and else wait: as beside one, 1.5.
  // They themselves: 1/2 of their time beside 1 + 1/2 neighbours, which is half-way from 1.5 to 3, and at
  // full speed in the other half: 1 + 1/2 x 1.25 = 1.625.
  const cost::Crowding crowding({{{{{}, {}}}, {{{}, {1.5, 3}}}}});
  CHECK(expected_slowdown(crowding, {0, 1}, {0, 1}) == support::near(1.5));
  CHECK(expected_slowdown(crowding, {0, 0.5}, {0, 1.5}) == support::near(1.625));
}

TEST_CASE("devices of other nodes, and a world told to have no crowding, are not slowed") {
  const auto ends = Apart({1, 1, 1}, {1, 1, 1}, two_devices(), {0, 0, 1}).ends();
  CHECK(ends[0] == support::near(4));
  CHECK(ends[2] == support::near(2));
  sim::SimulationOptions options;
  options.crowding = false;
  CHECK(Apart({1, 1}, {1, 1}, two_devices(), {0, 0}).ends(options)[0] == support::near(2));
}

TEST_CASE("the verifier notices passes that nobody slowed, and passes slowed for nothing") {
  const Apart world({1, 2}, {1, 0.5}, two_devices(), {0, 0});
  const cost::Problem problem{world.graph, world.cluster, world.costs, world.plan.training};
  const schedule::ScheduledPlan scheduled{world.graph, world.plan};
  sim::SimulationOptions crowded, apart;
  apart.crowding = false;
  CHECK(!check::trace_faults(problem, scheduled, sim::simulate(problem, scheduled, apart), crowded).empty());
  CHECK(!check::trace_faults(problem, scheduled, sim::simulate(problem, scheduled, crowded), apart).empty());
}

TEST_CASE("beyond what was measured the slowdown grows on") {
  const cost::Crowding crowding({{{{{}, {}}}, {{{}, {1.5}}}}});
  CHECK(crowding.slowdown(cost::Use::memory, cost::Use::memory, 3) == support::near(2.5));
  CHECK(crowding.slowdown(cost::Use::memory, cost::Use::arithmetic, 3) == 1);
  CHECK(cost::Crowding({{{{{0.98}, {1}}}, {{{}, {1}}}}}).empty());
}

TEST_CASE("iterations that crowding takes beyond the clock are refused") {
  const cost::Crowding::Table table = {{{{{}, {}}}, {{{}, {1000}}}}};
  CHECK_THROWS_WITH_AS(Apart({3e3, 3e3}, {1, 1}, table, {0, 0}).ends(),
                       "devices that slow each other down might outlast the simulator's clock",
                       core::BadInput);
}
