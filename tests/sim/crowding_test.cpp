// Devices of a node slow each other down while they compute.

#include <doctest/doctest.h>

#include "penstock/check/trace_violations.hpp"
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
cost::CrowdingSlowdown::Table two_devices() {
  return {{{{{1}, {kProductBesideAddition}}}, {{{kAdditionBesideProduct}, {2}}}}};
}

/// Devices of these nodes.
cluster::Cluster on_nodes(const std::vector<int>& nodes) {
  const auto plain = support::tiny_cluster(nodes.size());
  auto devices = plain.devices();
  for (std::size_t d = 0; d < nodes.size(); ++d) devices[d].node = nodes[d];
  return cluster::Cluster("nodes", plain.types(), devices, 1, plain.links());
}

/// One operator each; forward and backward `seconds` long, one micro-batch; no device waits for another.
struct SeparateDevices {
  graph::OpGraph graph;
  cluster::Cluster cluster;
  support::FixedCosts plain;
  support::CrowdedCosts costs;
  plan::Plan plan;

  SeparateDevices(const std::vector<double>& seconds, const std::vector<double>& memory_share,
                  const cost::CrowdingSlowdown::Table& table, const std::vector<int>& nodes)
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
    for (const auto& violation : check::trace_violations(problem, scheduled, trace, options))
      FAIL_CHECK(violation);
    std::vector<double> out(cluster.size());
    for (const auto& span : trace.spans)
      out[span.device.index()] = std::max(out[span.device.index()], to_seconds(span.end).value());
    return out;
  }
};

}  // namespace

TEST_CASE("two devices that want all of the memory get half of it each") {
  // Forward 1 s and backward 1 s take twice as long from beginning to end.
  const auto ends = SeparateDevices({1, 1}, {1, 1}, two_devices(), {0, 0}).ends();
  CHECK(ends[0] == support::near(4));
  CHECK(ends[1] == support::near(4));
}

TEST_CASE("kernels that need half of the memory each do not slow each other") {
  const auto ends = SeparateDevices({1, 1}, {0.5, 0.5}, two_devices(), {0, 0}).ends();
  CHECK(ends[0] == support::near(2 * (kProductBesideAddition + kAdditionBesideProduct) / 2));
}

TEST_CASE("unequal passes slow each other by their own and the other's need") {
  // Device 0 moves bytes, 1 s forward and 1 s backward; device 1 uses half of the memory all the time, 2 s
  // and 2 s. Demands are 1 + 1/2. That is half-way from where they just fit (an addition beside a product,
  // 1.1 and 1.2) to where both use all (2). Device 0 takes (1.1 + 2) / 2 = 1.55 times as long, so it is done
  // at 3.1 s. Until then device 1 takes (1.2 + 2) / 2 = 1.6 times as long. Of its 4 s of work 3.1 / 1.6 =
  // 1.9375 s are done, the rest takes 2.0625 s without neighbours.
  const auto ends = SeparateDevices({1, 2}, {1, 0.5}, two_devices(), {0, 0}).ends();
  CHECK(ends[0] == support::near(3.1));
  CHECK(ends[1] == support::near(5.1625));
}

TEST_CASE("passes of unlike kernels meet by chance") {
  // Half of each pass's time uses all of the memory, half nothing. Together they are at it a quarter of the
  // time, each without the other a quarter: 1/4 (1 + 1.2 + 1.1 + 2).
  const cost::CrowdingSlowdown crowding(two_devices());
  const cost::UseShares mixed{{0.5, 0, 0.5}}, even{{0, 1, 0}};
  CHECK(expected_slowdown(crowding, mixed, {{mixed}}) == support::near(5.3 / 4));
  CHECK(expected_slowdown(crowding, even, {{even}}) == support::near(1.15));
}

TEST_CASE("the slowdown beside two neighbours is the one measured beside two") {
  const cost::CrowdingSlowdown::Table three = {{{{{}, {}}}, {{{}, {1.5, 3}}}}};
  const auto ends = SeparateDevices({1, 1, 1}, {1, 1, 1}, three, {0, 0, 0}).ends();
  for (const double end : ends) CHECK(end == support::near(6));
}

TEST_CASE("two neighbours that need half each are as one that needs all") {
  // An addition beside two: without others they would slow it by nothing, adding by 3. With one memory's
  // worth between them half of that: 1 + (3 - 1) / 2. A neighbour that waits all the time is none.
  const cost::CrowdingSlowdown crowding({{{{{}, {}}}, {{{1, 1}, {1.5, 3}}}}});
  const cost::UseShares all{{0, 0, 1}}, half{{0, 1, 0}}, waits;
  CHECK(expected_slowdown(crowding, all, {{half, half}}) == support::near(2));
  CHECK(expected_slowdown(crowding, all, {{all, waits}}) == support::near(1.5));
  CHECK(expected_slowdown(crowding, all, {{all, all}}) == support::near(3));
  CHECK(expected_slowdown(crowding, waits, {{all, all}}) == 1);
}

TEST_CASE("devices of other nodes, and a world without crowding, are not slowed") {
  const auto ends = SeparateDevices({1, 1, 1}, {1, 1, 1}, two_devices(), {0, 0, 1}).ends();
  CHECK(ends[0] == support::near(4));
  CHECK(ends[2] == support::near(2));
  sim::SimulationOptions options;
  options.crowding = false;
  CHECK(SeparateDevices({1, 1}, {1, 1}, two_devices(), {0, 0}).ends(options)[0] == support::near(2));
}

TEST_CASE("the verifier notices passes that should be slowed, and passes slowed for nothing") {
  const SeparateDevices scenario({1, 2}, {1, 0.5}, two_devices(), {0, 0});
  const cost::Problem problem{scenario.graph, scenario.cluster, scenario.costs, scenario.plan.training};
  const schedule::ScheduledPlan scheduled{scenario.graph, scenario.plan};
  sim::SimulationOptions crowded, apart;
  apart.crowding = false;
  CHECK(!check::trace_violations(problem, scheduled, sim::simulate(problem, scheduled, apart), crowded)
             .empty());
  CHECK(!check::trace_violations(problem, scheduled, sim::simulate(problem, scheduled, crowded), apart)
             .empty());
}

TEST_CASE("beyond what was measured the slowdown grows on") {
  const cost::CrowdingSlowdown crowding({{{{{}, {}}}, {{{}, {1.5}}}}});
  CHECK(crowding.slowdown(1, 3, 3) == support::near(2.5));
  CHECK(crowding.slowdown(1, 3, 0) == 1);
  CHECK(cost::CrowdingSlowdown({{{{{0.98}, {1}}}, {{{}, {1}}}}}).empty());
}

TEST_CASE("iterations that crowding takes beyond the clock are refused") {
  const cost::CrowdingSlowdown::Table table = {{{{{}, {}}}, {{{}, {1000}}}}};
  CHECK_THROWS_WITH_AS(SeparateDevices({3e3, 3e3}, {1, 1}, table, {0, 0}).ends(),
                       "devices that slow each other down might outlast the simulator's clock",
                       core::BadInput);
}
