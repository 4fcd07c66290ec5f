// Half the bytes on a cluster are as good as all of them on one twice as fast.

#include <doctest/doctest.h>

#include <map>
#include <optional>

#include "penstock/plan/plan_file.hpp"
#include "penstock/plan/stage_graph.hpp"
#include "penstock/planners/planner.hpp"
#include "penstock/score/estimate.hpp"
#include "support/near.hpp"
#include "support/random_problem.hpp"

using namespace penstock;

namespace {

struct PlannedTime {
  std::string plan;    ///< as text, without the compression
  double seconds = 0;  ///< of an iteration, as the planner sees it
};

std::optional<PlannedTime> planned(const planners::PlannerInfo& planner, const cost::Problem& problem) {
  planners::SearchOptions options;
  options.max_tensor_parallel = 1;  // messages within groups are not compressed
  try {
    auto found = planner.plan(problem, options, {});
    const auto stages = plan::StageGraph(problem.graph, found.plan);
    const auto seconds = found.estimate.value_or(score::estimate(problem, found.plan, stages).iteration);
    found.plan.training.compression = {};
    return PlannedTime{plan::to_yaml(problem.graph, found.plan), seconds.value()};
  } catch (const core::Infeasible&) {
    return std::nullopt;
  }
}

/// Operators of even sizes, so that half of a message is a whole number of bytes; no latency.
struct NetworkPair {
  NetworkPair(std::uint64_t seed, double bandwidth)
      : random(support::random_problem(seed)),
        slow(support::tiny_cluster(random.cluster.size(), std::int64_t{1} << 40, bandwidth)),
        fast(support::tiny_cluster(random.cluster.size(), std::int64_t{1} << 40, 2 * bandwidth)) {}
  cost::Problem on(const cluster::Cluster& cluster, plan::Compression compression) const {
    return {
        random.graph, cluster, random.costs, {random.training.mini_batch, plan::Optimizer::sgd, compression}};
  }
  support::RandomProblem random;
  cluster::Cluster slow, fast;
};

void compare_networks(std::uint64_t first, std::uint64_t last) {
  std::map<std::string, int> compared, changed;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    CAPTURE(seed);
    const NetworkPair networks(seed, 2000);
    if (networks.random.graph.size() > 6) continue;
    for (const auto& planner : planners::catalogue()) {
      if (planner.name == "joint") continue;  // ZeRO 2 and 3 send weights too, which are not compressed
      CAPTURE(planner.name);
      const auto halved = planned(planner, networks.on(networks.slow, {0.5, 0.5}));
      const auto faster = planned(planner, networks.on(networks.fast, {}));
      const auto whole = planned(planner, networks.on(networks.slow, {}));
      REQUIRE(halved.has_value() == faster.has_value());
      if (!halved) continue;
      CHECK(halved->plan == faster->plan);
      CHECK(halved->seconds == support::near(faster->seconds, 1e-12));
      ++compared[planner.name];
      changed[planner.name] += whole->seconds > halved->seconds * (1 + 1e-9);
    }
  }
  for (const auto& planner : planners::catalogue()) {
    if (planner.name == "joint") continue;
    CAPTURE(planner.name);
    CHECK(compared[planner.name] > 0);
    CHECK((changed[planner.name] > 0) == (planner.name != "single_device"));  // which sends nothing
  }
}

}  // namespace

TEST_CASE(
    "compression: messages of half the size make for the plan and the estimate of twice the bandwidth") {
  compare_networks(40, 52);  // few, among them one of the rare ones where pipedream's estimate changes
}

TEST_CASE("compression: the same on many problems" * doctest::test_suite("slow")) {
  compare_networks(1, 60);
}

TEST_CASE("compression: the ratio of gradients counts for reductions, that of activations between stages") {
  // A planner whose plans have replicas and stages gets each ratio; either by itself makes some plan's
  // estimate better, by no more than both do.
  std::map<std::string, int> gradients, activations;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    const NetworkPair networks(seed, 200);  // B/s: messages take longer than passes
    if (networks.random.graph.size() > 6) continue;
    for (const char* name : {"graphpipe", "pipedream", "pipedream_2bw", "piper", "spp_luo", "dapple"}) {
      CAPTURE(name);
      const auto& planner = planners::planner(name);
      const auto seconds = [&](plan::Compression ratios) -> double {
        const auto found = planned(planner, networks.on(networks.slow, ratios));
        return found ? found->seconds : 0;
      };
      const double whole = seconds({});
      gradients[name] += seconds({0.5, 1}) < whole * (1 - 1e-9);
      activations[name] += seconds({1, 0.5}) < whole * (1 - 1e-9);
    }
  }
  for (const auto& [name, count] : gradients) {
    CAPTURE(name);
    CHECK(count > 0);
    CHECK(activations[name] > 0);
  }
}
