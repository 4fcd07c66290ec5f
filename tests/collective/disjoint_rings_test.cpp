// Rings over cables of their own, on meshes with known rings and against the cut.

#include "penstock/collective/disjoint_rings.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "penstock/collective/catalogue.hpp"
#include "support/cables.hpp"
#include "support/near.hpp"
#include "support/random_network.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using collective::DisjointRings;
using core::DeviceId;
using support::cabled_cluster;
using support::first_devices;

namespace {

DisjointRings rings_of(const cluster::Cluster& cluster) {
  return collective::disjoint_rings(cluster, first_devices(cluster.size()));
}

/// Bytes/s of all rings together on a cable between any two of so many devices.
double complete(std::size_t devices) {
  return rings_of(cabled_cluster(devices, support::every_cable(devices, 100))).bandwidth();
}

}  // namespace

TEST_CASE("six NVLinks of each DGX-1 device are six rings") {
  const DisjointRings found = rings_of(cabled_cluster(8, support::hybrid_cube_mesh(25e9), 5e-6));
  CHECK(found.rings.size() == 6);
  CHECK(found.bandwidth() == support::near(150e9));
  CHECK(found.cut == support::near(150e9));
  CHECK(found.step.latency == support::near(5e-6));
}

TEST_CASE("cables between any two devices are all in use") {
  // Cycles take all cables of an even number of devices only as two channels each.
  for (std::size_t n = 3; n <= 10; ++n)
    CHECK(complete(n) == support::near(100.0 * static_cast<double>(n - 1)));
}

TEST_CASE("a row of cables in a circle is two rings; a chord does not add one") {
  const std::vector<support::CableEnds> circle = {{0, 1, 10}, {1, 2, 10}, {2, 3, 10}, {3, 0, 10}};
  CHECK(rings_of(cabled_cluster(4, circle)).bandwidth() == support::near(20));
  auto chord = circle;
  chord.push_back({0, 2, 10});
  CHECK(rings_of(cabled_cluster(4, chord)).bandwidth() == support::near(20));
}

TEST_CASE("cables of several bandwidths are cut into channels of one") {
  // Three devices have one cycle, as fast as its slowest cable.
  CHECK(rings_of(cabled_cluster(3, {{0, 1, 30}, {1, 2, 40}, {2, 0, 40}})).bandwidth() == support::near(60));
  // Channels of 10: the circle three times, and once each cycle over the diagonals and two opposite cables.
  const DisjointRings four =
      rings_of(cabled_cluster(4, {{0, 1, 40}, {1, 2, 40}, {2, 3, 40}, {3, 0, 40}, {0, 2, 20}, {1, 3, 20}}));
  CHECK(four.cut == support::near(100));
  CHECK(four.bandwidth() == support::near(100));
}

TEST_CASE("no disjoint rings: on a switch, over one-way links, in pairs, and beyond sixteen devices") {
  CHECK(rings_of(support::tiny_cluster(4)).rings.empty());
  CHECK(rings_of(cabled_cluster(2, {{0, 1, 10}})).rings.empty());
  CHECK(rings_of(cabled_cluster(4, {{0, 1, 10}, {1, 2, 10}, {2, 3, 10}, {1, 3, 10}})).rings.empty());
  const std::vector<cluster::Link> one_way = {{0, 1, core::Bandwidth(1), core::Seconds(0)},
                                              {1, 2, core::Bandwidth(1), core::Seconds(0)},
                                              {2, 0, core::Bandwidth(1), core::Seconds(0)}};
  CHECK(rings_of({"one way", {{}}, std::vector<cluster::Device>(3), 0, one_way}).rings.empty());
  std::vector<support::CableEnds> circle;
  for (std::size_t d = 0; d < 17; ++d) circle.push_back({d, (d + 1) % 17, 10});
  const auto many = cabled_cluster(17, circle);
  CHECK(rings_of(many).rings.empty());
  CHECK(!collective::algorithm("disjoint_rings").fits(many, first_devices(17)));
}

TEST_CASE("a pair whose given route passes another device has no cable in a ring") {
  const auto cluster = cluster::parse_cluster(
      "name: given\n"
      "device_types: {t: {memory: 1GiB, memory_bandwidth: 1GB/s, multiprocessors: 1, launch_overhead: 0s, "
      "peak: {fp32: 1FLOP/s}}}\n"
      "machines: [{name: a, device: t}, {name: b, device: t}, {name: c, device: t}]\n"
      "links:\n"
      "  - {from: a, to: b, bandwidth: 1GB/s, latency: 0s}\n"
      "  - {from: b, to: c, bandwidth: 1GB/s, latency: 0s}\n"
      "  - {from: c, to: a, bandwidth: 1GB/s, latency: 0s}\n"
      "routes: [{from: a, to: b, via: [c]}]\n",
      "given.yaml");
  CHECK(rings_of(cluster).rings.empty());
}

TEST_CASE("rings of random meshes stay within every cut and every cable") {
  core::Random random(5);
  int found = 0;
  for (int i = 0; i < 400; ++i) {
    const auto cluster = support::random_mesh(random).cluster();
    const auto group = first_devices(cluster.size());
    const DisjointRings rings = collective::disjoint_rings(cluster, group);
    found += !rings.rings.empty();
    CHECK(rings.bandwidth() <= rings.cut * (1 + 1e-12));
    std::map<std::size_t, double> used;  // [link] bytes/s
    for (const collective::Members& ring : rings.rings)
      for (std::size_t m = 0; m < ring.size(); ++m) {
        const auto route = cluster.route(group[ring[m]], group[ring[(m + 1) % ring.size()]]);
        REQUIRE(route.links.size() == 1);
        used[route.links.front()] += rings.bandwidth() / static_cast<double>(rings.rings.size());
      }
    for (const auto& [link, bandwidth] : used)
      CHECK(bandwidth <= cluster.links()[link].bandwidth.value() * (1 + 1e-12));
  }
  CHECK(found > 5);
}

TEST_CASE("messages of disjoint rings bring every part to every member") {
  const auto cluster = cabled_cluster(8, support::hybrid_cube_mesh(25e9));
  const auto group = first_devices(8);
  constexpr std::int64_t kBytes = 1000;
  for (const bool gather : {false, true}) {
    const auto messages = gather ? collective::all_gather(cluster, group, kBytes)
                                 : collective::algorithm("disjoint_rings").messages(cluster, group, kBytes);
    CHECK(messages.size() == 32 * 7 * (gather ? 1 : 2));  // 16 cables both ways, 7 steps in each pass
    std::int64_t moved = 0;
    for (const auto& message : messages) moved += message.bytes;
    CHECK(moved == (gather ? 1 : 2) * 7 * kBytes);
    // Every step waits for all messages of the step before to its sender.
    std::vector<std::vector<bool>> carried, known(8, std::vector<bool>(8));
    for (std::size_t m = 0; m < 8; ++m) known[m][m] = true;
    for (const auto& message : messages) {
      auto knows = std::vector<bool>(8);
      knows[message.from] = true;
      for (const std::size_t before : message.after)
        for (std::size_t m = 0; m < 8 && messages[before].to == message.from; ++m)
          knows[m] = knows[m] || carried[before][m];
      for (std::size_t m = 0; m < 8; ++m) known[message.to][m] = known[message.to][m] || knows[m];
      carried.push_back(std::move(knows));
    }
    for (const auto& row : known) CHECK(std::ranges::count(row, true) == 8);
  }
}

TEST_CASE("an all-gather without disjoint rings, or with slower ones, is a single ring") {
  CHECK(collective::all_gather(support::tiny_cluster(4), first_devices(4), 400).size() == 4 * 3);
  CHECK(collective::all_gather(cabled_cluster(4, support::every_cable(4, 100)), first_devices(4), 1200)
            .size() == 12 * 3);
  // Five devices on a switch of 1 kB/s; slow cables to the device after next make a pentagram.
  // Routes of equal length take the links listed first, those of the switch.
  std::vector<cluster::Link> links;
  const auto join = [&](std::size_t a, std::size_t b, double bandwidth) {
    links.push_back({a, b, core::Bandwidth(bandwidth), core::Seconds(0)});
    links.push_back({b, a, core::Bandwidth(bandwidth), core::Seconds(0)});
  };
  for (std::size_t d = 0; d < 5; ++d) join(d, 5, 1000);
  for (std::size_t d = 0; d < 5; ++d) join(d, (d + 2) % 5, 1);
  const cluster::Cluster both("both", {{}}, std::vector<cluster::Device>(5), 1, links);
  CHECK(rings_of(both).bandwidth() == support::near(2));
  CHECK(collective::all_gather(both, first_devices(5), 1000).size() == 5 * 4);
}
