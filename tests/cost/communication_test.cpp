#include "penstock/cost/communication.hpp"

#include <doctest/doctest.h>

#include "support/checkout.hpp"
#include "support/near.hpp"
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

TEST_CASE("several groups take as long in whatever order, and no less than each alone") {
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
