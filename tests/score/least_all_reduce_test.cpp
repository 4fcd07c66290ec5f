// The least all-reduce against all pairs of devices.

#include "score/least_all_reduce.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>

#include "penstock/cost/communication.hpp"
#include "support/cables.hpp"
#include "support/near.hpp"
#include "support/random_network.hpp"

using namespace penstock;
using core::DeviceId;

namespace {

/// Slow twin: all pairs of devices, the better of both directions.
struct AllPairs {
  explicit AllPairs(const cluster::Cluster& machine) : cluster(machine) {
    for (std::size_t a = 0; a < cluster.size(); ++a)
      for (std::size_t b = 0; b < cluster.size(); ++b)
        if (a != b) {
          most = std::max(most, bandwidth(a, b));
          latency = std::min(latency, cluster.route(DeviceId(a), DeviceId(b)).latency.value());
        }
  }
  double bandwidth(std::size_t a, std::size_t b) const {
    return std::max(cluster.route(DeviceId(a), DeviceId(b)).bandwidth,
                    cluster.route(DeviceId(b), DeviceId(a)).bandwidth)
        .value();
  }
  /// Devices that hang together over pairs of such a bandwidth at least, in the largest group.
  std::size_t together(double least) const {
    std::vector<bool> seen(cluster.size());
    std::size_t largest = 0;
    for (std::size_t start = 0; start < seen.size(); ++start) {
      if (seen[start]) continue;
      std::vector<std::size_t> group{start};
      seen[start] = true;
      for (std::size_t i = 0; i < group.size(); ++i)
        for (std::size_t d = 0; d < seen.size(); ++d)
          if (!seen[d] && bandwidth(group[i], d) >= least) seen[d] = true, group.push_back(d);
      largest = std::max(largest, group.size());
    }
    return largest;
  }
  /// At which so many devices hang together.
  double connected(std::size_t replicas) const {
    double best = 0;
    for (std::size_t a = 0; a < cluster.size(); ++a)
      for (std::size_t b = a + 1; b < cluster.size(); ++b)
        if (together(bandwidth(a, b)) >= replicas) best = std::max(best, bandwidth(a, b));
    return best;
  }

  const cluster::Cluster& cluster;
  double most = 0, latency = 1;
};

double expected(const AllPairs& pairs, std::size_t replicas, double bytes) {
  const double slowest = pairs.connected(replicas), r = static_cast<double>(replicas);
  const double ring = 2 * (r - 1) / r / slowest, hierarchical = 1 / slowest + 1 / pairs.most;
  const double steps = 2 * static_cast<double>(std::bit_width(replicas - 1));
  return steps * pairs.latency + bytes * (replicas < 4 ? ring : std::min(ring, hierarchical));
}

}  // namespace

TEST_CASE("the least all-reduce is not above the value over all pairs of devices") {
  core::Random random(3);
  for (int i = 0; i < 200; ++i) {
    const auto cluster = (i % 2 ? support::random_tree(random) : support::random_mesh(random)).cluster();
    const score::LeastAllReduce least(cluster);
    const AllPairs pairs(cluster);
    for (std::size_t r = 2; r <= cluster.size(); ++r) {
      CHECK(least.seconds(r, core::Bytes(1)) <= expected(pairs, r, 1));
      CHECK(least.seconds(r, core::Bytes(1'000'000)) <= expected(pairs, r, 1e6));
    }
  }
}

TEST_CASE("the least all-reduce on regular clusters is the value over all pairs of devices") {
  for (const char* name : {"4xH100x3", "4xH100x3-rails", "4xA100-40x2"}) {
    const auto cluster = cluster::load_cluster(name);
    const score::LeastAllReduce least(cluster);
    const AllPairs pairs(cluster);
    for (std::size_t r = 2; r <= cluster.size(); ++r)
      for (const std::int64_t bytes : {1, 1'000'000})
        CHECK(least.seconds(r, core::Bytes(bytes)) ==
              support::near(expected(pairs, r, static_cast<double>(bytes)), 1e-12));
  }
}

TEST_CASE("the least all-reduce is not above disjoint rings of any devices of a mesh") {
  core::Random random(8);
  for (int i = 0; i < 60; ++i) {
    auto cables = support::every_cable(4 + static_cast<std::size_t>(i % 3), 1);
    for (support::CableEnds& cable : cables) cable.bandwidth = 1e9 * random.between(1, 3);
    std::erase_if(
        cables, [&](const support::CableEnds& cable) { return cable.b > 1 + cable.a && random.chance(0.3); });
    const auto cluster = support::cabled_cluster(4 + static_cast<std::size_t>(i % 3), cables);
    const score::LeastAllReduce least(cluster);
    for (std::size_t set = 1; set < std::size_t{1} << cluster.size(); ++set) {
      std::vector<DeviceId> group;
      for (std::size_t d = 0; d < cluster.size(); ++d)
        if ((set >> d & 1) != 0) group.emplace_back(d);
      for (const std::int64_t bytes : {1, 1'000'000'000})
        CHECK(least.seconds(group.size(), core::Bytes(bytes)) <=
              cost::all_reduce(cluster, group).time(core::Bytes(bytes)).value() * (1 + 1e-12));
    }
  }
}

TEST_CASE("on a hybrid cube mesh the least all-reduce of all devices is that of six rings") {
  const auto cluster = support::cabled_cluster(8, support::hybrid_cube_mesh(25e9));
  CHECK(score::LeastAllReduce(cluster).seconds(8, core::Bytes(1'000'000'000)) ==
        support::near(2 * 7 / 8.0 / 150));
}

TEST_CASE("the least all-reduce is not above disjoint rings within nodes and a ring between them") {
  const auto cluster = support::meshed_nodes(100e9, 10e9);
  const core::Bytes bytes(1'000'000'000);
  const double seconds = cost::all_reduce(cluster, support::first_devices(8)).time(bytes).value();
  CHECK(score::LeastAllReduce(cluster).seconds(8, bytes) <= seconds);
}
