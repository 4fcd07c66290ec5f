#include "src/planners/rows/submeshes.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <limits>
#include <random>

#include "penstock/core/random.hpp"
#include "support/near.hpp"

using namespace penstock;
using planners::SubmeshCosts;
using planners::SubmeshPlan;
using planners::SubmeshStage;

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// A double of 53 random bits in [0, 1), as numpy draws it.
double unit53(std::mt19937& twister) {
  const auto high = static_cast<double>(twister() >> 5), low = static_cast<double>(twister() >> 6);
  return (high * 67108864 + low) / 9007199254740992.0;
}

SubmeshCosts random_costs(std::uint64_t seed) {
  core::Random random(seed);
  SubmeshCosts costs;
  costs.layers = random.between(1, 6);
  costs.devices = random.between(1, 6);
  costs.micro_batches = random.between(1, 20);
  costs.configs = random.between(1, 3);
  for (int size = 1; size <= costs.devices; size = random.chance(0.7) ? 2 * size : size + 3)
    costs.sizes.push_back(size);
  const bool memory = random.chance(0.6), rough = random.chance(0.5);  // rough: many equal costs
  costs.cost.resize(costs.index(costs.layers, 0, 0, 0));
  for (double& cost : costs.cost) {
    cost = rough ? random.between(1, 5) : random.unit();
    if (random.chance(0.1)) cost = kNever;
    if (memory) costs.most_following.push_back(random.between(-1, 4));
  }
  return costs;
}

double exhaustive(const SubmeshCosts& costs) {
  double best = kNever;
  std::vector<SubmeshStage> chosen;
  const auto judge = [&] {
    double sum = 0, slowest = 0;
    for (std::size_t s = chosen.size(); s-- > 0;) {
      const std::size_t at =
          costs.index(chosen[s].begin, chosen[s].end - 1, chosen[s].submesh, chosen[s].config);
      const int following = static_cast<int>(chosen.size() - s) - 1;
      if (!costs.most_following.empty() && costs.most_following[at] < following) return;
      sum = costs.cost[at] + sum;
      slowest = std::max(slowest, costs.cost[at]);
    }
    best = std::min(best, sum + (costs.micro_batches - 1) * slowest);
  };
  const std::function<void(int, int)> extend = [&](int layer, int devices) {
    if (layer == costs.layers && devices == 0) judge();
    for (int end = layer + 1; end <= costs.layers; ++end)
      for (std::size_t m = 0; m < costs.sizes.size(); ++m)
        for (int c = 0; c < costs.configs && costs.sizes[m] <= devices; ++c) {
          chosen.push_back({layer, end, m, c, 0});
          extend(end, devices - costs.sizes[m]);
          chosen.pop_back();
        }
  };
  extend(0, costs.devices);
  return best;
}

}  // namespace

TEST_CASE("the golden optimum of Alpa's own test instance") {
  // Alpa's unit test draws its costs with numpy's seed 42; the optimum was computed apart from this code.
  SubmeshCosts costs;
  costs.layers = costs.devices = 8;
  costs.micro_batches = 16;
  costs.configs = 5;
  costs.sizes = {1, 2, 4, 8};
  std::mt19937 twister(42);
  for (int k = 0; k < 8 * 8 * 4 * 5; ++k) costs.cost.push_back(unit53(twister));
  CHECK(costs.cost.front() == 0.3745401188473625);
  const auto found = planners::least_sum_and_slowest(costs, {});
  REQUIRE(found);
  CHECK(found->total == support::near(0.295285058257051, 1e-14));
  CHECK(found->slowest == support::near(0.018110184, 1e-7));
  CHECK(found->sum == support::near(0.023632301, 1e-7));
  REQUIRE(found->stages.size() == 2);
  CHECK(found->stages[0].end == 4);
  CHECK(found->stages[1].end == 8);
  CHECK(costs.sizes[found->stages[0].submesh] == 4);
  CHECK(costs.sizes[found->stages[1].submesh] == 4);
  CHECK(found->stages[0].config == 2);
  CHECK(found->stages[1].config == 4);
}

TEST_CASE("the plan is the best of all, with memory and without") {
  int possible = 0, impossible = 0;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    CAPTURE(seed);
    const SubmeshCosts costs = random_costs(seed);
    const auto found = planners::least_sum_and_slowest(costs, {});
    const double expected = exhaustive(costs);
    CHECK(found.has_value() == (expected < kNever));
    found ? ++possible : ++impossible;
    if (found) CHECK(found->total == support::near(expected, 1e-12));
  }
  CHECK(possible > 200);
  CHECK(impossible > 50);
}

TEST_CASE("many micro-batches need an even split, a single one the least sum") {
  // Two layers on two devices: one stage on both takes 4 s; apart they take 1 s and 3.5 s.
  SubmeshCosts costs;
  costs.layers = costs.devices = 2;
  costs.sizes = {1, 2};
  costs.cost.assign(8, kNever);
  costs.cost[costs.index(0, 1, 1, 0)] = 4;
  costs.cost[costs.index(0, 0, 0, 0)] = 1;
  costs.cost[costs.index(1, 1, 0, 0)] = 3.5;
  // 4 + (B - 1) 4 against 4.5 + (B - 1) 3.5: equal at B = 2.
  costs.micro_batches = 1;
  CHECK(planners::least_sum_and_slowest(costs, {})->stages.size() == 1);
  costs.micro_batches = 3;
  CHECK(planners::least_sum_and_slowest(costs, {})->stages.size() == 2);
  CHECK(planners::least_sum_and_slowest(costs, {})->total == 4.5 + 2 * 3.5);
}
