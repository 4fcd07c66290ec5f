#include "sim/network/network.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "penstock/core/error.hpp"
#include "support/water_filling.hpp"

using namespace penstock;
using sim::NetworkModel;
using support::FlowSet;
using support::simulated_ends;
using Ends = std::vector<std::int64_t>;

TEST_CASE("fair: two flows on one link of 1 byte/ps take twice their time") {
  // 100 bytes each at half a byte per ps.
  CHECK(simulated_ends({{1}, {{{0}, 0, 0, 100}, {{0}, 0, 0, 100}}}) == Ends{200, 200});
}

TEST_CASE("fair: a flow that ends leaves its share") {
  // 50 and 100 bytes: half each until 100 ps, when the first ends; the second has 50 left and goes at full
  // rate.
  CHECK(simulated_ends({{1}, {{{0}, 0, 0, 50}, {{0}, 0, 0, 100}}}) == Ends{100, 150});
}

TEST_CASE("fair: flows that start at different moments") {
  // The first moves 60 of its 100 bytes by itself; then half each. It ends at 60 + 80 = 140, when the second
  // has moved 40 of its 100; the rest takes 60 more.
  CHECK(simulated_ends({{1}, {{{0}, 0, 0, 100}, {{0}, 60, 0, 100}}}) == Ends{140, 200});
}

TEST_CASE("fair: the parking lot, three links and two flows") {
  // The long flow crosses links 0, 1 and 2 of 1 byte/ps, the short one link 1: half each, though 0 and 2 have
  // room.
  CHECK(simulated_ends({{1, 1, 1}, {{{0, 1, 2}, 0, 0, 100}, {{1}, 0, 0, 50}}}) == Ends{150, 100});
}

TEST_CASE("fair: latency comes first and holds no bandwidth") {
  // The second flow's bytes set out at 100 ps, when the first has just ended: neither sees the other.
  CHECK(simulated_ends({{1}, {{{0}, 0, 0, 100}, {{0}, 0, 100, 100}}}) == Ends{100, 200});
  // A picosecond earlier they share one picosecond's byte.
  CHECK(simulated_ends({{1}, {{{0}, 0, 0, 100}, {{0}, 0, 99, 100}}}) == Ends{101, 200});
}

TEST_CASE("a transfer without bytes takes its latency and does not slow others") {
  CHECK(simulated_ends({{1}, {{{0}, 0, 0, 100}, {{0}, 10, 7, 0}, {{0}, 20, 0, 0}}}) == Ends{100, 17, 20});
}

TEST_CASE("fair: the two directions of a cable are links of their own, each with its capacity") {
  // Link 0 there at 2 bytes/ps, link 1 back at 0.5.
  CHECK(simulated_ends({{2, 0.5}, {{{0}, 0, 0, 100}, {{1}, 0, 0, 100}, {{0}, 0, 0, 100}}}) ==
        Ends{100, 200, 100});
}

TEST_CASE("fair: an end is rounded up to the picosecond") {
  // 10 bytes at 3 bytes/ps: 3.33 ps. 9 bytes: 3 ps. One byte at 1000 bytes/ps: no transfer takes no time.
  CHECK(simulated_ends({{3}, {{{0}, 0, 0, 10}}}) == Ends{4});
  CHECK(simulated_ends({{3}, {{{0}, 0, 0, 9}}}) == Ends{3});
  CHECK(simulated_ends({{1000}, {{{0}, 0, 0, 1}}}) == Ends{1});
}

TEST_CASE("fifo: the first to become ready goes first, and takes the whole link") {
  CHECK(simulated_ends({{1}, {{{0}, 0, 0, 100}, {{0}, 60, 0, 100}, {{0}, 10, 0, 50}}}, NetworkModel::fifo) ==
        Ends{100, 250, 150});
}

TEST_CASE("fifo: of those that wait on several links and want one more together, the first goes first") {
  // Both wait for the first transfer, one on either link of its, and for each other on link 2.
  CHECK(simulated_ends({{1, 1, 1}, {{{0, 1}, 0, 0, 100}, {{1, 2}, 10, 0, 50}, {{0, 2}, 20, 0, 50}}},
                       NetworkModel::fifo) == Ends{100, 150, 200});
}

TEST_CASE("fair: random flow sets end at the times of the slow twin") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    const FlowSet set = support::random_flow_set(seed);
    const auto ends = simulated_ends(set);
    const auto twin = support::fair_ends(set);
    // Each rounded end delays those that wait for its share by less than a picosecond.
    const auto slack = static_cast<long double>(set.flows.size());
    for (std::size_t f = 0; f < ends.size(); ++f)
      CHECK(std::abs(static_cast<long double>(ends[f]) - twin[f]) <= slack);
  }
}

TEST_CASE(
    "fair: random flow sets on links that weaken, fail and recover end when the slow twin's clock says") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    CHECK(simulated_ends(support::random_flow_set(seed)) ==
          fair_ends_by_clock(support::random_flow_set(seed)));
    const FlowSet set = support::random_faulty_flow_set(seed);
    CHECK(simulated_ends(set) == support::fair_ends_by_clock(set));
  }
}

TEST_CASE("a link that weakens half way: the rest takes longer") {
  // 50 of 100 bytes by 50 ps, then 0.25 bytes/ps: 200 ps more. Whole again at 90: 10 bytes by then, 40 more.
  const FlowSet weak{{1}, {{{0}, 0, 0, 100}}, {{50, 0, 0.25, "", {}}}};
  const FlowSet whole{{1}, {{{0}, 0, 0, 100}}, {{50, 0, 0.25, "", {}}, {90, 0, 1, "", {}}}};
  for (const auto network : {NetworkModel::fair, NetworkModel::fifo}) {
    CHECK(simulated_ends(weak, network) == Ends{250});
    CHECK(simulated_ends(whole, network) == Ends{130});
  }
}

TEST_CASE("bytes wait while a link is down; latency does not") {
  // Down from 50 to 80 ps. 100 bytes that start at 0 end at 130; with 60 ps of latency they set out at 80.
  const std::vector<sim::CapacityChange> down = {{50, 0, 0, "", {}}, {80, 0, 1, "", {}}};
  for (const auto network : {NetworkModel::fair, NetworkModel::fifo}) {
    CHECK(simulated_ends({{1}, {{{0}, 0, 0, 100}}, down}, network) == Ends{130});
    CHECK(simulated_ends({{1}, {{{0}, 0, 60, 100}}, down}, network) == Ends{180});
    // The last byte arrives in the moment of the failure, or just misses it.
    CHECK(simulated_ends({{1}, {{{0}, 0, 0, 50}}, down}, network) == Ends{50});
    CHECK(simulated_ends({{1}, {{{0}, 0, 0, 51}}, down}, network) == Ends{81});
  }
}

TEST_CASE("fair: a dead link frees what its flows held elsewhere; fifo: it does not") {
  // Both cross link 0, the first link 1 too, which is down from 0 to 100 ps. The second has link 0 for itself
  // until 100, when it is done; the first then needs 100. One at a time, the first holds link 0 until 200.
  const FlowSet set{
      {1, 1}, {{{0, 1}, 0, 0, 100}, {{0}, 0, 0, 100}}, {{0, 1, 0, "", {}}, {100, 1, 1, "", {}}}};
  CHECK(simulated_ends(set) == Ends{200, 100});
  CHECK(simulated_ends(set, NetworkModel::fifo) == Ends{200, 300});
}

TEST_CASE("a link that is restored to less than another may fill that other") {
  // Link 1 of 0.1 leaves link 0 of 1 slack for two flows of which one crosses it. At 100 ps it widens to 1:
  // the two share link 0. 190 bytes without others at 0.9 until 100, then at half: 90 by 100, 100 more take
  // 200.
  const FlowSet set{{1, 0.1}, {{{0, 1}, 0, 0, 1000}, {{0}, 0, 0, 190}}, {{100, 1, 1, "", {}}}};
  CHECK(simulated_ends(set)[1] == 300);
}

TEST_CASE("a transfer over a link that stays down is an error that names link, time and transfer") {
  const FlowSet set{{1},
                    {{{0}, 0, 0, 100}},
                    {{50'000'000, 0, 1, "a to b", {}}, {50, 0, 0, "a to b", {"f.yaml", 7, "links[0]"}}}};
  FlowSet sorted = set;
  std::swap(sorted.changes[0], sorted.changes[1]);
  CHECK(simulated_ends(sorted) == Ends{50'000'050});  // restored after all
  sorted.changes.pop_back();
  for (const auto network : {NetworkModel::fair, NetworkModel::fifo})
    CHECK_THROWS_WITH_AS(
        simulated_ends(sorted, network),
        "f.yaml:7: links[0]: a to b is down from 0.05 ns on and never restored, but the transfer of "
        "micro-batch 0 from device 0 to device 0 waits for it",
        core::BadInput);
}

TEST_CASE("fair: the order in which flows are listed changes no end") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    FlowSet set = support::random_faulty_flow_set(seed);
    const auto ends = simulated_ends(set);
    std::vector<std::size_t> order(set.flows.size());
    core::Random random(seed);
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    for (std::size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[static_cast<std::size_t>(random.between(0, static_cast<int>(i) - 1))]);
    FlowSet mixed{set.capacity, {}, set.changes};
    for (const auto i : order) mixed.flows.push_back(set.flows[i]);
    const auto again = simulated_ends(mixed);
    for (std::size_t i = 0; i < order.size(); ++i) CHECK(again[i] == ends[order[i]]);
  }
}

TEST_CASE("no link carries more bytes than it can between the first start and the last end") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    const FlowSet set = support::random_flow_set(seed);
    const auto ends = simulated_ends(set);
    for (std::size_t l = 0; l < set.capacity.size(); ++l) {
      double bytes = 0;
      std::int64_t first = std::int64_t{1} << 60, last = 0;
      for (std::size_t f = 0; f < ends.size(); ++f) {
        const auto& flow = set.flows[f];
        if (flow.bytes == 0 || std::find(flow.route.begin(), flow.route.end(), l) == flow.route.end())
          continue;
        bytes += static_cast<double>(flow.bytes);
        first = std::min(first, flow.start + flow.latency);
        last = std::max(last, ends[f]);
      }
      if (bytes > 0) CHECK(bytes <= set.capacity[l] * (static_cast<double>(last - first) + 0.01));
    }
  }
}
