#include "penstock/cost/device_groups.hpp"

#include <doctest/doctest.h>

#include "penstock/cost/sharding.hpp"
#include "penstock/cost/stage_memo.hpp"
#include "support/fixed_costs.hpp"
#include "support/matrices.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using core::DeviceId;
using cost::DeviceGroups;

TEST_CASE("groups of devices are compared by what they hold") {
  const DeviceGroups ahead({{DeviceId(0), DeviceId(1)}, {DeviceId(2), DeviceId(3)}});
  const DeviceGroups same({{DeviceId(0), DeviceId(1)}, {DeviceId(2), DeviceId(3)}});
  const DeviceGroups behind({{DeviceId(0), DeviceId(2)}, {DeviceId(1), DeviceId(3)}});
  const DeviceGroups copy = behind;
  CHECK(ahead == same);
  CHECK((ahead <=> same) == std::strong_ordering::equal);
  CHECK(ahead != behind);
  CHECK(ahead < behind);
  CHECK(behind > same);
  CHECK(copy == behind);
  CHECK(behind.owners() == 2);
  CHECK(ahead.owners() == 1);
}

TEST_CASE("a stage's buckets share the lists of their devices, which a memo counts once") {
  const auto graph = support::matrices(8);
  const auto cluster = support::tiny_cluster(64);
  const auto costs = support::FixedCosts::uniform(8, 1.0, 2.0);
  const cost::Problem problem{graph, cluster, costs, {64}};
  plan::Stage stage;
  cost::OperatorSets buckets;
  for (std::size_t v = 0; v < graph.size(); ++v) {
    stage.operators.emplace_back(v);
    buckets.push_back({core::OpId(v)});
  }
  for (std::size_t d = 0; d < 64; ++d) stage.devices.emplace_back(d);
  const auto sums = cost::timed_reductions(problem, stage, buckets);
  REQUIRE(sums->size() == 8);
  const DeviceGroups& first = sums->front().front().reduction.groups;
  CHECK(first.owners() == 8);
  for (const auto& bucket : *sums) CHECK(&bucket.front().reduction.groups.list() == &first.list());
  const std::int64_t list = cost::held_bytes(first.list());
  CHECK(cost::held_bytes(*sums) > list);
  CHECK(cost::held_bytes(*sums) < 2 * list + 8 * std::int64_t{sizeof(cost::TimedReduction)});
}
