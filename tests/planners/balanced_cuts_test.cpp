#include "planners/baselines/balanced_cuts.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "penstock/core/random.hpp"

using namespace penstock;
using planners::BalancedCuts;
using Ends = std::vector<std::size_t>;

namespace {

/// Units of given weights, on runs of given slowness.
planners::RunCost weighted(const std::vector<double>& weights, const std::vector<double>& slowness) {
  return [=](std::size_t run, std::size_t begin, std::size_t end) {
    const auto first = weights.begin();
    return slowness[run] * std::accumulate(first + static_cast<std::ptrdiff_t>(begin),
                                           first + static_cast<std::ptrdiff_t>(end), 0.0);
  };
}

double costliest(const Ends& ends, const planners::RunCost& cost) {
  double most = 0;
  for (std::size_t r = 0; r < ends.size(); ++r)
    most = std::max(most, cost(r, r == 0 ? 0 : ends[r - 1], ends[r]));
  return most;
}

/// Every way to place the cuts, one after the other.
double slow_twin(std::size_t runs, std::size_t units, const planners::RunCost& cost, Ends ends = {}) {
  const std::size_t from = ends.empty() ? 0 : ends.back();
  if (ends.size() + 1 == runs) {
    ends.push_back(units);
    return from < units ? costliest(ends, cost) : std::numeric_limits<double>::infinity();
  }
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t end = from + 1; end < units; ++end) {
    Ends longer = ends;
    longer.push_back(end);
    best = std::min(best, slow_twin(runs, units, cost, longer));
  }
  return best;
}

}  // namespace

TEST_CASE("4 1 1 2 in two runs: 4 | 1 1 2; in three the same 4 is the most") {
  const auto cost = weighted({4, 1, 1, 2}, {1, 1, 1});
  const BalancedCuts cuts(3, 4, cost);
  CHECK(cuts.ends(2, 4) == Ends{1, 4});
  CHECK(cuts.costliest(2, 4) == 4);
  CHECK(cuts.costliest(3, 4) == 4);
  CHECK(cuts.ends(2, 3) == Ends{1, 3});  // a prefix: 4 | 1 1
  CHECK(cuts.ends(1, 4) == Ends{4});
}

TEST_CASE("a run on a device twice as slow gets half: 2 2 | 2") {
  CHECK(BalancedCuts(2, 3, weighted({2, 2, 2}, {1, 2})).ends(2, 3) == Ends{2, 3});
  CHECK(BalancedCuts(2, 3, weighted({2, 2, 2}, {2, 1})).ends(2, 3) == Ends{1, 3});
}

TEST_CASE("cuts equal brute force, zero weights and slow devices included") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    core::Random random(seed);
    std::vector<double> weights, slowness;
    for (int u = random.between(1, 8); u > 0; --u) weights.push_back(random.between(0, 9));
    for (std::size_t r = 0; r < weights.size(); ++r) slowness.push_back(random.between(1, 3));
    const auto cost = weighted(weights, slowness);
    const BalancedCuts cuts(weights.size(), weights.size(), cost);
    for (std::size_t runs = 1; runs <= weights.size(); ++runs) {
      const double least = slow_twin(runs, weights.size(), cost);
      CHECK(cuts.costliest(runs, weights.size()) == least);
      CHECK(costliest(cuts.ends(runs, weights.size()), cost) == least);
    }
  }
}
