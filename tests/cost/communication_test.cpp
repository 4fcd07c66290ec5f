#include "penstock/cost/communication.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "penstock/collective/catalogue.hpp"
#include "penstock/cost/sharding.hpp"
#include "support/cables.hpp"
#include "support/checkout.hpp"
#include "support/near.hpp"
#include "support/reference_data.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using core::Bytes;
using core::DeviceId;

namespace {

std::vector<DeviceId> devices(std::size_t count) {
  std::vector<DeviceId> out;
  for (std::size_t d = 0; d < count; ++d) out.emplace_back(d);
  return out;
}

}  // namespace

TEST_CASE("ring all-reduce: 2(r-1)/r of the bytes over the slowest cable") {
  const auto c = support::tiny_cluster(4, 1, 1e9);
  // Four devices, 4 MB, no latency: 6 steps of 1 MB at 1 GB/s.
  CHECK(cost::all_reduce(c, devices(4)).time(Bytes(4000000)).value() == support::near(6e-3));
  CHECK(cost::all_reduce(c, devices(1)).time(Bytes(4000000)).value() == 0);
  // Six messages one after the other, each over two cables of 0.5 ms.
  const auto late = support::tiny_cluster(4, 1, 1e9, 0.5e-3);
  CHECK(cost::all_reduce(late, devices(4)).algorithms.front().latency == support::near(6e-3));
}

TEST_CASE("a tree wins where latency dominates") {
  // 16 devices, 1 ms per route (two cables of 0.5 ms), hardly any bytes: ring 30 steps, tree 8.
  const auto c = support::tiny_cluster(16, 1, 1e9, 0.5e-3);
  CHECK(cost::all_reduce(c, devices(16)).time(Bytes(16)).value() == support::near(8e-3, 1e-4));
  // Nine devices: one of them is four steps below the root.
  CHECK(cost::all_reduce(c, devices(9)).time(Bytes(16)).value() == support::near(8e-3, 1e-4));
  CHECK(cost::all_reduce(c, devices(8)).time(Bytes(16)).value() == support::near(6e-3, 1e-4));
}

TEST_CASE("across nodes the hierarchical ring sends over the uplink only between nodes") {
  const auto c = cluster::load_cluster(support::checkout("/experiments/clusters/summit.yaml"));
  const Bytes big(1000000000);
  // Inside: 2 * 3/4 GB at 50 GB/s = 30 ms. Between two nodes: 2 * 1/2 GB at 12.5 GB/s = 80 ms.
  CHECK(cost::all_reduce(c, devices(8)).time(big).value() == support::near(0.110, 0.001));
}

TEST_CASE("gathering is half an all-reduce; groups that share a cable share its bandwidth") {
  const auto c = support::tiny_cluster(4, 1, 1e9);
  const std::vector<std::vector<DeviceId>> all = {devices(4)};
  CHECK(cost::all_gather(c, all).time(Bytes(4000000)).value() == support::near(3e-3));  // three steps of 1 MB
  // Two nodes of two devices behind one uplink each: pairs across both send 2 x 1/2 x 1 GB, together
  // over 12.5 GB/s.
  const auto nodes = cluster::load_cluster(support::checkout("/experiments/clusters/summit.yaml"));
  const std::vector<std::vector<DeviceId>> one = {{DeviceId(0), DeviceId(4)}};
  const std::vector<std::vector<DeviceId>> two = {{DeviceId(0), DeviceId(4)}, {DeviceId(1), DeviceId(5)}};
  const Bytes big(1000000000);
  CHECK(cost::all_reduce(nodes, one).time(big).value() == support::near(0.08, 0.001));
  CHECK(cost::all_reduce(nodes, two).time(big).value() == support::near(0.16, 0.001));
  // Rings that go to and fro use an uplink twice, but are one group there each.
  const std::vector<std::vector<DeviceId>> to_and_fro = {
      {DeviceId(0), DeviceId(4), DeviceId(1), DeviceId(5)},
      {DeviceId(2), DeviceId(6), DeviceId(3), DeviceId(7)}};
  const auto ring = cost::all_reduce(nodes, to_and_fro).algorithms.front();
  CHECK(ring.per_byte == support::near(2 * 3 / 4.0 * 2 / 12.5e9));
}

TEST_CASE("on a mesh of cables disjoint rings count where they are faster") {
  // Eight devices with six links of 25 GB/s each: 2 x 7/8 x 411.5 MB at 150 GB/s, and 14 steps of 5 us. A
  // single ring is over cables of 25 GB/s, and devices 3 and 4 are two cables apart.
  const auto mesh = support::cabled_cluster(8, support::hybrid_cube_mesh(25e9), 5e-6);
  const Bytes gradients(411'500'000);
  const double ring = 2 * 7 / 8.0 * 411.5e6 / 25e9, latency = 14 * 5e-6;
  const std::vector<std::vector<DeviceId>> all = {devices(8)};
  CHECK(cost::all_reduce(mesh, all).algorithms.front().at(gradients) == support::near(ring + 2 * latency));
  CHECK(cost::all_reduce(mesh, all).time(gradients).value() == support::near(ring / 6 + latency));
  CHECK(cost::all_gather(mesh, all).time(gradients).value() == support::near((ring / 6 + latency) / 2));
  // Both halves at once: of each device's links four are within its half, and all four are in rings.
  const std::vector<std::vector<DeviceId>> halves = {{DeviceId(0), DeviceId(1), DeviceId(2), DeviceId(3)},
                                                     {DeviceId(4), DeviceId(5), DeviceId(6), DeviceId(7)}};
  CHECK(cost::all_reduce(mesh, halves).time(gradients).value() ==
        support::near(2 * 3 / 4.0 * 411.5e6 / 100e9 + 6 * 5e-6));
}

TEST_CASE("nodes that are meshes reduce over disjoint rings before and after their network") {
  // Two nodes of four devices with cables of 100 GB/s, all on one network with 10 GB/s each. Inside, 2 x 3/4 GB
  // at 300 GB/s: 5 ms. Between, 2 x 1/2 GB at 10 GB/s: 100 ms.
  const cluster::Cluster nodes = support::meshed_nodes(100e9, 10e9);
  CHECK(cost::all_reduce(nodes, devices(8)).time(Bytes(1'000'000'000)).value() == support::near(0.105));
  std::int64_t inside = 0, between = 0;
  std::size_t cables = 0;
  const auto group = devices(8);
  for (const auto& message : collective::algorithm("hierarchical").messages(nodes, group, 8000)) {
    const bool leaves = message.from / 4 != message.to / 4;
    (leaves ? between : inside) += message.bytes;
    cables += !leaves;
  }
  CHECK(inside == 2 * 2 * 3 * 8000);
  CHECK(between == 2 * 8000);
  CHECK(cables == 2 * 2 * 3 * 12);  // two nodes, two passes of three steps, twelve directed cables
}

TEST_CASE("a pair with a cable is as fast as it, and two pairs are as slow as their switch") {
  // NCCL measured 208 GB/s on two devices with 300 GB/s of NVLink, and 20 on three of two such pairs, whose
  // switch has 32 (nccl-tests issue 178).
  const auto pairs = cluster::parse_cluster(
      "name: pairs\n"
      "device_types: {t: {memory: 1GiB, memory_bandwidth: 1GB/s, multiprocessors: 1, launch_overhead: 0s, "
      "peak: {fp32: 1FLOP/s}}}\n"
      "machines: [{name: a, device: t, node: 0}, {name: b, device: t, node: 0},\n"
      "           {name: c, device: t, node: 0}, {name: d, device: t, node: 0}]\n"
      "switches: [hub]\n"
      "links:\n"
      "  - {from: a, to: b, bandwidth: 300GB/s, latency: 0s}\n"
      "  - {from: c, to: d, bandwidth: 300GB/s, latency: 0s}\n"
      "  - {from: a, to: hub, bandwidth: 32GB/s, latency: 0s}\n"
      "  - {from: b, to: hub, bandwidth: 32GB/s, latency: 0s}\n"
      "  - {from: c, to: hub, bandwidth: 32GB/s, latency: 0s}\n"
      "  - {from: d, to: hub, bandwidth: 32GB/s, latency: 0s}\n",
      "pairs.yaml");
  const auto bus_bandwidth = [&](std::size_t count) {
    const double ranks = static_cast<double>(count);
    return 2 * (ranks - 1) / ranks * 1e9 /
           cost::all_reduce(pairs, devices(count)).time(Bytes(1'000'000'000)).value();
  };
  CHECK(bus_bandwidth(2) == support::near(300e9));
  CHECK(bus_bandwidth(3) == support::near(32e9));
  CHECK(bus_bandwidth(4) == support::near(32e9));
}

TEST_CASE("the mesh of a public DGX-1 report takes three rings both ways") {
  const std::string file = support::reference_data("trials/many_links/mesh.yaml");
  if (file.empty()) return;
  const double seconds =
      cost::all_reduce(cluster::load_cluster(file), devices(8)).time(Bytes(411'500'000)).value();
  const double bound = 2 * 7 / 8.0 * 411.5e6 / 150e9;  // 4.8 ms
  CHECK(seconds >= bound);
  CHECK(seconds <= 1.15 * bound);
}

TEST_CASE("several groups take equally long in any order, and no less than each by itself") {
  const auto nodes = cluster::load_cluster(support::checkout("/experiments/clusters/summit.yaml"));
  const auto group = [](std::initializer_list<std::size_t> ids) {
    return std::vector<DeviceId>(ids.begin(), ids.end());
  };
  // Two and two devices of two nodes, which may reduce inside first; one of each of four nodes, which cannot.
  const auto inside = group({0, 1, 4, 5}), across = group({8, 12, 16, 20});
  const std::vector<std::vector<DeviceId>> one_way = {inside, across}, other = {across, inside};
  for (const Bytes bytes : {Bytes(1000), Bytes(1000000000)}) {
    const auto time = cost::all_reduce(nodes, one_way).time(bytes);
    CHECK(time == cost::all_reduce(nodes, other).time(bytes));
    CHECK(time >= cost::all_reduce(nodes, inside).time(bytes));
    CHECK(time >= cost::all_reduce(nodes, across).time(bytes));
  }
}

TEST_CASE("all-to-all: everyone keeps one part of its part") {
  // Four devices with 1 MB each of 4 MB: three messages of 250 kB at 1 GB/s.
  CHECK(cost::all_to_all(support::tiny_cluster(4, 1, 1e9), devices(4)).at(Bytes(4000000)) ==
        support::near(0.75e-3));
}

TEST_CASE("all-to-alls across nodes share the nodes' uplinks") {
  // Two groups of two of each of two nodes: over an uplink 2 x 2 pairs of each go, a sixteenth of its bytes
  // each.
  const auto nodes = cluster::load_cluster(support::checkout("/experiments/clusters/summit.yaml"));
  const auto group = [](std::initializer_list<std::size_t> ids) {
    return std::vector<DeviceId>(ids.begin(), ids.end());
  };
  const std::vector<std::vector<DeviceId>> both = {group({0, 1, 4, 5}), group({2, 3, 6, 7})};
  CHECK(cost::all_to_all(nodes, both).per_byte == support::near(2 * 4 / 16.0 / 12.5e9));
  CHECK(cost::all_to_all(nodes, both[0]).per_byte == support::near(4 / 16.0 / 12.5e9));
}

TEST_CASE("collectives within a node take what was measured, others their closed form") {
  using cluster::CollectiveKind;
  // Nodes of four devices. 1 s for any collective of two to six ranks up to 1 MB.
  std::vector<cluster::CollectiveTime> rows;
  for (std::size_t k = 0; k < cluster::kCollectiveKinds; ++k)
    for (const std::int64_t ranks : {2, 6})
      for (const std::int64_t bytes : {1, 1'000'000})
        rows.push_back({static_cast<CollectiveKind>(k), ranks, bytes, k == 2 ? 3.0 : 1.0});
  const auto bare = cluster::load_cluster(support::checkout("/experiments/clusters/summit.yaml")).first(12);
  const auto known = bare.measured_by(std::make_shared<cluster::CollectiveTimes>(rows));
  const Bytes bytes(1000);
  CHECK(cost::all_reduce(known, devices(4)).time(bytes).value() == support::near(1));
  CHECK(cost::all_reduce(known, devices(1)).time(bytes).value() == 0);
  CHECK(cost::all_reduce(known, devices(4)).time(Bytes(2'000'000)).value() == support::near(2));
  CHECK(cost::all_reduce(known, devices(12)).time(bytes) == cost::all_reduce(bare, devices(12)).time(bytes));
  const std::vector<std::vector<DeviceId>> inside{devices(4)}, across{devices(12)};
  // Gathered in 1 s, scattered in 3.
  CHECK(cost::all_gather(known, inside).time(bytes).value() == support::near(2));
  CHECK(cost::all_gather(known, across).time(bytes) == cost::all_gather(bare, across).time(bytes));
  CHECK(cost::measured(known, inside, CollectiveKind::all_to_all).find(bytes)->time.value() ==
        support::near(1));
  CHECK(cost::measured(known, across, CollectiveKind::all_to_all).times == nullptr);
  CHECK(cost::measured(bare, inside, CollectiveKind::all_to_all).times == nullptr);
  // Several groups at once: each by its own cables.
  const std::vector<std::vector<DeviceId>> two{{DeviceId(0), DeviceId(1)}, {DeviceId(6), DeviceId(7)}};
  CHECK(cost::all_reduce(known, two).time(bytes).value() == support::near(1));
}

namespace {

/// Devices of one node on a switch, each with cables of its own bandwidth (B/s) and latency (s).
cluster::Cluster uneven(const std::vector<std::pair<double, double>>& cables) {
  std::vector<cluster::Link> links;
  for (std::size_t d = 0; d < cables.size(); ++d) {
    const core::Bandwidth bandwidth(cables[d].first);
    const core::Seconds latency(cables[d].second);
    links.push_back({d, cables.size(), bandwidth, latency});
    links.push_back({cables.size(), d, bandwidth, latency});
  }
  return {"uneven", support::tiny_cluster(1).types(), std::vector<cluster::Device>(cables.size()), 1, links};
}

/// Points joined in a row, both ways, by cables of 1 GB/s without latency.
cluster::Cluster row_of(std::size_t devices) {
  std::vector<cluster::Link> links;
  for (std::size_t d = 0; d + 1 < devices; ++d) {
    links.push_back({d, d + 1, core::Bandwidth(1e9), core::Seconds(0)});
    links.push_back({d + 1, d, core::Bandwidth(1e9), core::Seconds(0)});
  }
  return {"row", support::tiny_cluster(1).types(), std::vector<cluster::Device>(devices), 0, links};
}

using Group = std::vector<DeviceId>;

}  // namespace

TEST_CASE("a ring is as slow as its slowest route, wherever on the ring that is") {
  // The second of four devices: 0.1 GB/s and 3 ms, the others 1 GB/s and 1 ms.
  for (std::size_t slow = 0; slow < 4; ++slow) {
    std::vector<std::pair<double, double>> cables(4, {1e9, 1e-3});
    cables[slow] = {1e8, 3e-3};
    const auto ring = cost::all_reduce(uneven(cables), devices(4)).algorithms.front();
    CHECK(ring.latency == support::near(2 * 3 * 4e-3));
    CHECK(ring.per_byte == support::near(2 * 3 / 4.0 / 1e8));
  }
}

TEST_CASE("groups at once take as long as the slowest, first or last") {
  const auto c = uneven({{1e8, 3e-3}, {1e8, 3e-3}, {1e9, 1e-3}, {1e9, 1e-3}});
  const Group slow{DeviceId(0), DeviceId(1)}, fast{DeviceId(2), DeviceId(3)};
  for (const auto& groups : {std::vector<Group>{slow, fast}, std::vector<Group>{fast, slow}}) {
    const auto ring = cost::all_reduce(c, groups).algorithms.front();
    CHECK(ring.latency == support::near(2 * 6e-3));
    CHECK(ring.per_byte == support::near(2 / 2.0 / 1e8));
  }
}

TEST_CASE("a hierarchy waits for its slowest node, first or last") {
  // Two nodes of two devices: inside 0.1 GB/s in one of them and 1 GB/s in the other, between them 2 GB/s.
  for (const std::size_t slow : {0, 1}) {
    std::vector<cluster::Link> links;
    for (std::size_t d = 0; d < 4; ++d) {
      links.push_back({d, 4, core::Bandwidth(2e9), core::Seconds(0)});
      links.push_back({4, d, core::Bandwidth(2e9), core::Seconds(0)});
    }
    for (std::size_t node = 0; node < 2; ++node)
      for (const auto& [from, to] : {std::pair{2 * node, 2 * node + 1}, {2 * node + 1, 2 * node}})
        links.push_back({from, to, core::Bandwidth(node == slow ? 1e8 : 1e9), core::Seconds(0)});
    const cluster::Cluster c("nodes", support::tiny_cluster(1).types(), {{0, 0}, {0, 0}, {0, 1}, {0, 1}}, 1,
                             links);
    const auto all = cost::all_reduce(c, devices(4)).algorithms;
    // Both passes of a ring of two over the slow link, and of one of two leaders.
    CHECK(std::ranges::any_of(
        all, [](const cost::Affine& a) { return a.per_byte == support::near(1 / 1e8 + 1 / 2e9); }));
  }
}

TEST_CASE("an all-to-all sends to one after the other") {
  const auto c = support::tiny_cluster(4, 1, 1e9, 0.5e-3);
  CHECK(cost::all_to_all(c, devices(4)).latency == support::near(3e-3));  // three messages over two cables
  // Over a cable of its own to each: still two messages of a ninth of the bytes.
  std::vector<cluster::Link> links;
  for (std::size_t a = 0; a < 3; ++a)
    for (std::size_t b = 0; b < 3; ++b)
      if (a != b) links.push_back({a, b, core::Bandwidth(1e9), core::Seconds(0)});
  const cluster::Cluster direct("direct", c.types(), std::vector<cluster::Device>(3), 0, links);
  CHECK(cost::all_to_all(direct, devices(3)).per_byte == support::near(2 / 9.0 / 1e9));
}

TEST_CASE("measured times count for the bytes sent, and not for groups that share cables") {
  using cluster::CollectiveKind;
  std::vector<cluster::CollectiveTime> rows;
  for (const std::int64_t bytes : {1, 1'000'000}) rows.push_back({CollectiveKind::all_reduce, 2, bytes, 1.0});
  const auto known = row_of(4).measured_by(std::make_shared<cluster::CollectiveTimes>(rows));
  cost::AllReduce pair = cost::all_reduce(known, Group{DeviceId(0), DeviceId(1)});
  CHECK(pair.time(Bytes(4'000'000)).value() == support::near(4));  // at the rate of the largest
  pair.sent = 0.5;
  CHECK(pair.time(Bytes(4'000'000)).value() == support::near(2));
  const std::vector<Group> apart{{DeviceId(0), DeviceId(1)}, {DeviceId(2), DeviceId(3)}},
      crossed{{DeviceId(0), DeviceId(2)}, {DeviceId(1), DeviceId(3)}};
  CHECK(cost::measured(known, apart, CollectiveKind::all_reduce).times != nullptr);
  CHECK(cost::measured(known, crossed, CollectiveKind::all_reduce).times == nullptr);
}

TEST_CASE("a measured all-to-all is looked up by what one rank sends") {
  using cluster::CollectiveKind;
  std::vector<cluster::CollectiveTime> rows;
  for (const std::int64_t bytes : {1, 1'000'000}) rows.push_back({CollectiveKind::all_to_all, 4, bytes, 1.0});
  const auto known = support::tiny_cluster(4).measured_by(std::make_shared<cluster::CollectiveTimes>(rows));
  const cost::GroupTimes times(known, devices(4));
  using Kind = layout::GroupCollective::Kind;
  // 8 MB of all ranks, 2 MB of each: at the rate of 1 MB in a second.
  CHECK(times.time({Kind::all_to_all, core::OpId(0), Bytes(8'000'000)}, 1).value() == support::near(2));
}
