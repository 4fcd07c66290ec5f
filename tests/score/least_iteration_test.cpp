#include "penstock/score/least_iteration.hpp"

#include <doctest/doctest.h>

#include "support/fixed_costs.hpp"
#include "support/near.hpp"
#include "support/tiny.hpp"

using namespace penstock;

namespace {

/// Stages of one operator on devices of their own, in a row, each 1 s forward and 2 s backward per
/// micro-batch.
double bound(std::size_t stages, std::int64_t micro_batches, const std::string& schedule) {
  std::vector<std::pair<int, int>> edges;
  for (std::size_t s = 1; s < stages; ++s) edges.emplace_back(s - 1, s);
  const graph::OpGraph graph = support::tiny_graph(stages, edges);
  const cluster::Cluster cluster = support::tiny_cluster(stages);
  const auto costs = support::FixedCosts::uniform(stages, 1, 2);
  plan::Plan plan;
  plan.training.mini_batch = micro_batches;
  plan.schedule = schedule;
  for (std::size_t s = 0; s < stages; ++s)
    plan.stages.push_back({{core::OpId(s)}, {core::DeviceId(s)}, 1, 1, 0, {}});
  return score::least_iteration({graph, cluster, costs, plan.training}, plan).value();
}

}  // namespace

TEST_CASE("the bound of an even pipeline is the time of filling, working and draining: 3 (m + p - 1)") {
  for (const std::size_t stages : {1, 2, 5})
    for (const std::int64_t micro_batches : {1, 4, 64})
      for (const char* schedule : {"1f1b", "gpipe"})
        CHECK(
            bound(stages, micro_batches, schedule) ==
            support::near(3.0 * static_cast<double>(micro_batches + static_cast<std::int64_t>(stages) - 1)));
}

TEST_CASE("with split backward passes the bound fills and works, and without a flush it is zero") {
  CHECK(bound(4, 8, "zb_h1") == support::near(3.0 * 8 + 3));
  CHECK(bound(4, 8, "pipedream") == 0);
}
