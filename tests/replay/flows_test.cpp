#include "replay/links/flows.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "penstock/core/random.hpp"
#include "support/near.hpp"
#include "support/tiny.hpp"
#include "support/water_filling.hpp"

using namespace penstock;
using core::Bytes;
using core::DeviceId;
using core::Seconds;
using replay::MessageFlows;

namespace {

/// Goes on from end to end: (who, when).
std::vector<std::pair<std::size_t, double>> ends(MessageFlows& flows) {
  std::vector<std::pair<std::size_t, double>> out;
  while (const auto next = flows.next())
    for (const std::size_t id : flows.advance(*next)) out.emplace_back(id, next->value());
  return out;
}

/// Two devices on each of two switches; cables of 100 B/s and `latency`, between the switches of 130 B/s.
cluster::Cluster two_nodes(double latency) {
  const core::Seconds each(latency);
  std::vector<cluster::Link> links;
  const auto join = [&](std::size_t a, std::size_t b, double bandwidth) {
    links.push_back({a, b, core::Bandwidth(bandwidth), each});
    links.push_back({b, a, core::Bandwidth(bandwidth), each});
  };
  for (std::size_t d = 0; d < 4; ++d) join(d, 4 + d / 2, 100);
  join(4, 5, 130);
  return cluster::Cluster("two nodes", support::tiny_cluster(1).types(), std::vector<cluster::Device>(4), 2,
                          links);
}

}  // namespace

TEST_CASE("a message without others takes its latency and its bytes over the bandwidth") {
  // Two cables of 0.5 s each and 100 B/s: 1 s, then 300 B in 3 s.
  const auto cluster = support::tiny_cluster(2, 1, 100, 0.5);
  MessageFlows flows(cluster);
  CHECK_FALSE(flows.next());
  flows.start(7, DeviceId(0), DeviceId(1), Bytes(300), Seconds(2));
  CHECK(flows.advance(Seconds(5.99)).empty());
  CHECK(flows.next() == Seconds(6));
  CHECK(flows.advance(Seconds(6)) == std::vector<std::size_t>{7});
  CHECK_FALSE(flows.next());
}

TEST_CASE("messages share a cable, and what one leaves goes to the other") {
  // 0 and 1 leave device 0 with 100 B/s together, 2 goes elsewhere. They send 100 B and 300 B at 50 B/s each
  // until 2 s, when 0 has ended; 1 has 200 B left, 2 s. Message 2, 50 B, enters where 1 does: it has 50 B/s,
  // 1 s.
  const auto cluster = support::tiny_cluster(4, 1, 100);
  MessageFlows flows(cluster);
  flows.start(0, DeviceId(0), DeviceId(1), Bytes(100), Seconds(0));
  flows.start(1, DeviceId(0), DeviceId(2), Bytes(300), Seconds(0));
  flows.start(2, DeviceId(3), DeviceId(2), Bytes(50), Seconds(0));
  const auto when = ends(flows);
  REQUIRE(when.size() == 3);
  CHECK(when[0].first == 2);
  CHECK(when[0].second == support::near(1));
  CHECK(when[1].first == 0);
  CHECK(when[1].second == support::near(2));
  CHECK(when[2].first == 1);
  CHECK(when[2].second == support::near(4));
}

TEST_CASE("random messages over two nodes end at the times of the slow twin") {
  const auto cluster = two_nodes(0.25);
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    core::Random random(seed);
    support::FlowSet set;
    for (const auto& link : cluster.links()) set.capacity.push_back(link.bandwidth.value() * 1e-12);
    std::vector<std::pair<DeviceId, DeviceId>> pairs;
    for (int count = random.between(1, 12); count > 0; --count) {
      const int from = random.between(0, 3), to = (from + random.between(1, 3)) % 4;
      pairs.emplace_back(static_cast<std::size_t>(from), static_cast<std::size_t>(to));
      const auto route = cluster.route(pairs.back().first, pairs.back().second);
      support::TimedFlow flow;
      flow.route.assign(route.links.begin(), route.links.end());
      flow.start = random.between(0, 20) * std::int64_t{200'000'000'000};
      flow.latency = core::to_picoseconds(route.latency).value();
      flow.bytes = random.between(1, 400);
      set.flows.push_back(flow);
    }
    MessageFlows flows(cluster);
    std::vector<double> ended(pairs.size(), -1);
    const auto go_on = [&](double until) {
      for (auto next = flows.next(); next && next->value() <= until; next = flows.next())
        for (const std::size_t id : flows.advance(*next)) ended[id] = next->value();
    };
    for (int tick = 0; tick <= 20; ++tick) {
      go_on(0.2 * tick);
      for (std::size_t f = 0; f < pairs.size(); ++f)
        if (set.flows[f].start == tick * std::int64_t{200'000'000'000})
          flows.start(f, pairs[f].first, pairs[f].second, Bytes(set.flows[f].bytes), Seconds(0.2 * tick));
    }
    go_on(1e9);
    const auto expected = support::fair_ends(set);
    for (std::size_t f = 0; f < pairs.size(); ++f)
      CHECK(ended[f] == support::near(static_cast<double>(expected[f]) * 1e-12, 1e-9));
  }
}
