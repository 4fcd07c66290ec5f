#include "penstock/collective/catalogue.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "penstock/sim/options.hpp"
#include "support/near.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using core::DeviceId;

TEST_CASE("the simulator's options name every algorithm, and report one that does not fit its group") {
  for (const collective::Algorithm& each : collective::algorithms()) {
    CHECK(name(sim::collective(each.name)) == each.name);
    CHECK(&collective::algorithm(each.name) == &each);
  }
  const auto cluster = support::tiny_cluster(3);  // of one node
  const std::vector<DeviceId> group = {DeviceId(0), DeviceId(1), DeviceId(2)};
  CHECK(!collective::algorithm("hierarchical").fits(cluster, group));
  CHECK(collective::algorithm("ring").fits(cluster, group));
}

TEST_CASE("a group of one device sends nothing") {
  const auto cluster = support::tiny_cluster(2);
  const std::vector<DeviceId> alone = {DeviceId(1)};
  for (const collective::Algorithm& each : collective::algorithms())
    if (each.fits(cluster, alone)) CHECK(each.messages(cluster, alone, 1000).empty());
  CHECK(collective::cheapest(cluster, alone, core::Bytes(1000)).messages(cluster, alone, 1000).empty());
}

TEST_CASE("on cables of their own a closed form is the rounds of its messages, one after the other") {
  // Five devices on a switch, 1 GB/s and 1 us each way: a round lasts as long as its largest message. With 5
  // kB a ring sends 1 kB in 8 rounds. A tree sends 5 kB in 4, of which children of one parent share a cable
  // only in the simulation.
  const auto cluster = support::tiny_cluster(5, 1 << 30, 1e9, 1e-6);
  std::vector<DeviceId> group;
  for (std::size_t d = 0; d < 5; ++d) group.emplace_back(d);
  const double route = cluster.route(group[0], group[1]).latency.value();
  const auto at = [&](const char* name) {
    return collective::algorithm(name)
        .closed_form(cluster, group, collective::PassCount::two, {})
        .at(core::Bytes(5000));
  };
  CHECK(at("ring") == support::near(8 * (route + 1e-6)));
  CHECK(at("tree") == support::near(2 * 3 * (route + 5e-6)));
  CHECK(collective::algorithm("ring").messages(cluster, group, 5000).size() == 8 * 5);
  CHECK(collective::algorithm("tree").messages(cluster, group, 5000).size() == 2 * 4);
  CHECK(&collective::cheapest(cluster, group, core::Bytes(1)) == &collective::algorithm("tree"));
  CHECK(&collective::cheapest(cluster, group, core::Bytes(1 << 20)) == &collective::algorithm("ring"));
}

TEST_CASE("every message of a collective is sent once and every member gets all contributions") {
  for (const collective::Algorithm& algorithm : collective::algorithms())
    for (std::size_t members = 2; members <= 17; ++members) {
      // Two members per node where that comes out even, else one node.
      cluster::DeviceType type{"t", core::Bytes(1),  core::Bandwidth(1), {core::FlopRate(1)},
                               1,   core::Seconds(0)};
      std::vector<cluster::Device> devices(members);
      std::vector<cluster::Link> links;
      std::vector<DeviceId> group;
      for (std::size_t d = 0; d < members; ++d) {
        devices[d].node = members % 2 == 0 ? static_cast<int>(d / 2) : 0;
        links.push_back({d, members, core::Bandwidth(1), core::Seconds(0)});
        links.push_back({members, d, core::Bandwidth(1), core::Seconds(0)});
        group.emplace_back(d);
      }
      const cluster::Cluster cluster("c", {type}, devices, 1, links);
      if (!algorithm.fits(cluster, group)) continue;
      CAPTURE(algorithm.name);
      const auto messages = algorithm.messages(cluster, group, 1000);
      // Contributions that a member may have after each message, if every message carries all contributions
      // of its sender.
      std::vector<std::vector<bool>> known(members, std::vector<bool>(members));
      for (std::size_t m = 0; m < members; ++m) known[m][m] = true;
      std::vector<std::vector<bool>> carried;
      for (std::size_t i = 0; i < messages.size(); ++i) {
        const auto& message = messages[i];
        auto knows = std::vector<bool>(members);
        knows[message.from] = true;
        for (const std::size_t before : message.after) {
          REQUIRE(before < i);
          if (messages[before].to != message.from) continue;
          for (std::size_t m = 0; m < members; ++m) knows[m] = knows[m] || carried[before][m];
        }
        carried.push_back(knows);
        for (std::size_t m = 0; m < members; ++m) known[message.to][m] = known[message.to][m] || knows[m];
      }
      for (const auto& knows : known)
        CHECK(std::count(knows.begin(), knows.end(), true) == static_cast<long>(members));
      std::int64_t moved = 0;
      for (const auto& message : messages) moved += message.bytes;
      // Every reduction in place moves at least 2(r-1) times the bytes in all; a ring and trees no more.
      CHECK(moved >= 2 * (static_cast<std::int64_t>(members) - 1) * 1000);
      if (algorithm.name == "ring" || algorithm.name == "tree" || algorithm.name == "double_tree")
        CHECK(moved == 2 * (static_cast<std::int64_t>(members) - 1) * 1000);
    }
}

TEST_CASE("between nodes every member of a hierarchical ring sends both parts of its uneven share") {
  // Two nodes of two devices. Each device reduces 3 of 6 bytes with its partner in the other node, in parts
  // of 2 and 1. One part goes there in the first step, the other one when all have been summed.
  cluster::DeviceType type{"t", core::Bytes(1), core::Bandwidth(1), {core::FlopRate(1)}, 1, core::Seconds(0)};
  const std::vector<cluster::Device> devices = {{0, 0}, {0, 0}, {0, 1}, {0, 1}};
  std::vector<cluster::Link> links;
  std::vector<DeviceId> group;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    links.push_back({d, devices.size(), core::Bandwidth(1), core::Seconds(0)});
    links.push_back({devices.size(), d, core::Bandwidth(1), core::Seconds(0)});
    group.emplace_back(d);
  }
  const cluster::Cluster cluster("c", {type}, devices, 1, links);
  std::vector<std::int64_t> sent(devices.size());
  for (const auto& message : collective::algorithm("hierarchical").messages(cluster, group, 6))
    if (devices[message.from].node != devices[message.to].node) sent[message.from] += message.bytes;
  CHECK(sent == std::vector<std::int64_t>{3, 3, 3, 3});
}

TEST_CASE("in an all-to-all everybody sends everybody else a part, one after the other") {
  const auto messages = collective::all_to_all(3, 90);
  CHECK(messages.size() == 6);
  std::map<std::pair<std::size_t, std::size_t>, std::int64_t> sent;
  for (const auto& message : messages) {
    sent[{message.from, message.to}] += message.bytes;
    for (const std::size_t before : message.after) CHECK(&messages[before] < &message);
  }
  CHECK(sent.size() == 6);
  CHECK(std::ranges::all_of(sent, [](const auto& each) { return each.second == 10; }));
  CHECK(messages[3].after.size() == 1);  // the second round follows the first
}
