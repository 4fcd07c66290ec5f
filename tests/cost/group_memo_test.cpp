// Collectives of groups of equal devices are timed once, and as they are without a memo.

#include "src/cost/group_memo.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "penstock/cluster/cluster.hpp"
#include "penstock/core/random.hpp"
#include "penstock/cost/stage_memo.hpp"
#include "support/random_problem.hpp"

using namespace penstock;
using core::DeviceId;
using Groups = cost::GroupTimes::Groups;

namespace {

/// Some of the devices in groups of one size, in any order.
Groups drawn(core::Random& random, std::size_t devices) {
  std::vector<DeviceId> order;
  for (std::size_t d = 0; d < devices; ++d) order.emplace_back(d);
  for (std::size_t d = devices; d > 1; --d)
    std::swap(order[d - 1], order[static_cast<std::size_t>(random.between(0, static_cast<int>(d) - 1))]);
  const auto size = static_cast<std::size_t>(random.between(1, static_cast<int>(devices)));
  Groups out;
  for (std::size_t g = 0; (g + 1) * size <= devices && (g == 0 || random.chance(0.7)); ++g)
    out.emplace_back(order.begin() + static_cast<std::ptrdiff_t>(g * size),
                     order.begin() + static_cast<std::ptrdiff_t>((g + 1) * size));
  return out;
}

/// Groups of any devices; the problem remembers its first queries.
void check_groups(cost::Problem problem, std::uint64_t seed, int rounds) {
  cost::StageMemo memo;
  memo.serve(problem);
  core::Random draw(seed);
  for (int round = 0; round < rounds; ++round) {
    const Groups groups = drawn(draw, problem.cluster.size());
    const cost::CollectiveKinds kinds{draw.chance(0.5), draw.chance(0.5), draw.chance(0.5)};
    CHECK(cost::all_reduce(problem, groups) == cost::all_reduce(problem.cluster, groups));
    CHECK(cost::all_gather(problem, groups) == cost::all_gather(problem.cluster, groups));
    CHECK(cost::group_times(problem, groups, kinds) == cost::GroupTimes(problem.cluster, groups, kinds));
  }
}

}  // namespace

TEST_CASE("groups of random clusters take as long with a memo as without") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    check_groups(support::random_problem(seed).problem(), seed, 60);
  }
}

TEST_CASE("groups across equal nodes cost the same with a memo, and many have one form") {
  const auto random = support::random_problem(1);
  for (const char* name : {"2xH100x3", "2xH100x3-rails"}) {
    CAPTURE(std::string(name));
    const auto cluster = cluster::load_cluster(name);
    check_groups({random.graph, cluster, random.costs, {8}}, 1, 1000);
  }
}
