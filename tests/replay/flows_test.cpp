#include "replay/flows.hpp"

#include <doctest/doctest.h>

#include "support/tiny.hpp"

using namespace penstock;
using core::Bytes;
using core::DeviceId;
using core::Seconds;
using replay::Flows;

namespace {

/// Goes on from end to end: (who, when).
std::vector<std::pair<std::size_t, double>> ends(Flows& flows) {
  std::vector<std::pair<std::size_t, double>> out;
  while (const auto next = flows.next())
    for (const std::size_t id : flows.advance(*next)) out.emplace_back(id, next->value());
  return out;
}

}  // namespace

TEST_CASE("a message alone takes its latency and its bytes over the bandwidth") {
  // Two cables of 0.5 s each and 100 B/s: 1 s, then 300 B in 3 s.
  const auto cluster = support::tiny_cluster(2, 1, 100, 0.5);
  Flows flows(cluster);
  CHECK_FALSE(flows.next());
  flows.start(7, DeviceId(0), DeviceId(1), Bytes(300), Seconds(2));
  CHECK(flows.advance(Seconds(5.99)).empty());
  CHECK(flows.next() == Seconds(6));
  CHECK(flows.advance(Seconds(6)) == std::vector<std::size_t>{7});
  CHECK_FALSE(flows.next());
}

TEST_CASE("messages share a cable, and what one leaves goes to the other") {
  // 0 and 1 leave device 0 with 100 B/s together, 2 goes elsewhere: 100 B and 300 B at 50 B/s each until
  // 2 s, when 0 has ended; 1 has 200 B left, 2 s. Message 2, 50 B, enters where 1 does: it has 50 B/s, 1 s.
  const auto cluster = support::tiny_cluster(4, 1, 100);
  Flows flows(cluster);
  flows.start(0, DeviceId(0), DeviceId(1), Bytes(100), Seconds(0));
  flows.start(1, DeviceId(0), DeviceId(2), Bytes(300), Seconds(0));
  flows.start(2, DeviceId(3), DeviceId(2), Bytes(50), Seconds(0));
  const auto when = ends(flows);
  REQUIRE(when.size() == 3);
  CHECK(when[0].first == 2);
  CHECK(when[0].second == doctest::Approx(1));
  CHECK(when[1].first == 0);
  CHECK(when[1].second == doctest::Approx(2));
  CHECK(when[2].first == 1);
  CHECK(when[2].second == doctest::Approx(4));
}
