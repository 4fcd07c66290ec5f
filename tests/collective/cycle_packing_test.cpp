// Cycles over channels of their own, against every cycle and every cut.

#include "collective/cycle_packing.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "penstock/core/random.hpp"

using namespace penstock;
using collective::CableWeights;
using collective::Members;

namespace {

/// Random whole weights up to `most`; a third of the pairs have no cable.
CableWeights random_weights(std::size_t members, int most, core::Random& random) {
  CableWeights out(members, std::vector<double>(members));
  for (std::size_t a = 0; a < members; ++a)
    for (std::size_t b = 0; b < a; ++b)
      out[a][b] = out[b][a] = random.chance(0.33) ? 0 : random.between(1, most);
  return out;
}

double least_of_all_cuts(const CableWeights& weights) {
  double least = 1e300;
  for (std::size_t set = 1; set + 1 < std::size_t{1} << weights.size(); ++set) {
    double cut = 0;
    for (std::size_t a = 0; a < weights.size(); ++a)
      for (std::size_t b = 0; b < weights.size(); ++b)
        if ((set >> a & 1) != 0 && (set >> b & 1) == 0) cut += weights[a][b];
    least = std::min(least, cut);
  }
  return least;
}

/// Takes the cycle's channels `times` times; a negative number gives them back.
void take(CableWeights& channels, const Members& cycle, double times) {
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    const std::size_t a = cycle[i], b = cycle[(i + 1) % cycle.size()];
    channels[a][b] -= times;
    channels[b][a] -= times;
  }
}

bool overdrawn(const CableWeights& channels) {
  return std::ranges::any_of(channels, [](const auto& row) { return std::ranges::min(row) < 0; });
}

/// Slow twin: every cycle in turn, taken any number of times.
int most_cycles(CableWeights& channels, const std::vector<Members>& cycles, std::size_t from) {
  int most = 0;
  for (std::size_t c = from; c < cycles.size(); ++c) {
    take(channels, cycles[c], 1);
    if (!overdrawn(channels)) most = std::max(most, 1 + most_cycles(channels, cycles, c));
    take(channels, cycles[c], -1);
  }
  return most;
}

std::vector<Members> every_cycle(std::size_t members) {
  Members order(members);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<Members> out;
  do
    if (order[1] < order.back()) out.push_back(order);
  while (std::next_permutation(order.begin() + 1, order.end()));
  return out;
}

}  // namespace

TEST_CASE("the smallest cut is that of all sets of members") {
  core::Random random(1);
  for (int i = 0; i < 300; ++i) {
    const auto weights = random_weights(2 + static_cast<std::size_t>(i % 6), 5, random);
    CHECK(collective::min_cut(weights) == least_of_all_cuts(weights));
  }
}

TEST_CASE("disjoint cycles are as many as a search over all cycles finds, within the smallest cut") {
  core::Random random(2);
  for (int i = 0; i < 300; ++i) {
    const std::size_t members = 3 + static_cast<std::size_t>(i % 4);
    const auto channels = random_weights(members, members < 6 ? 3 : 2, random);
    const auto found = collective::disjoint_cycles(channels);
    CableWeights left = channels;
    for (const Members& cycle : found) {
      Members all = cycle;
      std::ranges::sort(all);
      CHECK(all == every_cycle(members).front());  // 0, 1, 2, ...
      take(left, cycle, 1);
    }
    CHECK(!overdrawn(left));
    CHECK(2 * static_cast<double>(found.size()) <= collective::min_cut(channels));
    left = channels;
    CHECK(static_cast<int>(found.size()) == most_cycles(left, every_cycle(members), 0));
  }
}

TEST_CASE("complete graphs with doubled cables are cycles throughout") {
  for (std::size_t n = 3; n <= 12; ++n) {
    CAPTURE(n);
    CableWeights channels(n, std::vector<double>(n, 2));
    for (std::size_t v = 0; v < n; ++v) channels[v][v] = 0;
    CHECK(collective::disjoint_cycles(channels).size() == n - 1);
  }
}

TEST_CASE("a search that ends early keeps the cycles that it has") {
  CableWeights channels(8, std::vector<double>(8, 2));
  for (std::size_t v = 0; v < 8; ++v) channels[v][v] = 0;
  CHECK(collective::disjoint_cycles(channels, 0).empty());
  const auto some = collective::disjoint_cycles(channels, 30);
  CHECK(some.size() > 0);
  CHECK(some.size() < 7);
}
