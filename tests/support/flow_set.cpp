#include "support/flow_set.hpp"

#include <algorithm>

namespace penstock::support {
namespace {

std::vector<std::uint32_t> random_route(core::Random& random, int links) {
  std::vector<std::uint32_t> route;
  for (int hops = random.between(1, std::min(4, links)); hops > 0; --hops) {
    const auto link = static_cast<std::uint32_t>(random.between(0, links - 1));
    if (std::find(route.begin(), route.end(), link) == route.end()) route.push_back(link);
  }
  return route;
}

}  // namespace

FlowSet random_flow_set(std::uint64_t seed) {
  core::Random random(seed);
  FlowSet set;
  const int links = random.between(1, 12);
  for (int l = 0; l < links; ++l)
    set.capacity.push_back(random.chance(0.3) ? 3 : 0.01 * random.between(1, 100));
  const bool round = random.chance(0.5);
  for (int f = random.between(1, 40); f > 0; --f) {
    TimedFlow flow;
    flow.route = random_route(random, links);
    flow.start = round ? 1000 * random.between(0, 5) : random.between(0, 20000);
    flow.latency = random.chance(0.5) ? 0 : 500 * random.between(1, 3);
    flow.bytes = random.chance(0.1) ? 0 : round ? 100 * random.between(1, 4) : random.between(1, 2000);
    set.flows.push_back(std::move(flow));
  }
  return set;
}

FlowSet random_faulty_flow_set(std::uint64_t seed) {
  FlowSet set = random_flow_set(seed);
  core::Random random(seed + 1'000'000);
  const int links = static_cast<int>(set.capacity.size());
  for (int c = random.between(1, 6); c > 0; --c) {
    const auto link = static_cast<std::uint32_t>(random.between(0, links - 1));
    const double share = random.chance(0.4) ? 0 : random.between(1, 4) * 0.25;
    set.changes.push_back({500 * random.between(0, 60), link, set.capacity[link] * share, "", {}});
  }
  for (std::uint32_t l = 0; l < set.capacity.size(); ++l)
    set.changes.push_back({50000, l, set.capacity[l], "", {}});
  std::stable_sort(set.changes.begin(), set.changes.end(),
                   [](const auto& a, const auto& b) { return a.time < b.time; });
  return set;
}

}  // namespace penstock::support
