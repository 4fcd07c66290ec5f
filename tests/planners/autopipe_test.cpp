#include "planners/baselines/autopipe.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "penstock/core/random.hpp"

using namespace penstock;
using Ends = std::vector<std::size_t>;

namespace {

planners::RunCost sums(const std::vector<double>& weights) {
  return [=](std::size_t, std::size_t begin, std::size_t end) {
    return std::accumulate(weights.begin() + static_cast<std::ptrdiff_t>(begin),
                           weights.begin() + static_cast<std::ptrdiff_t>(end), 0.0);
  };
}

/// The shortest critical path over every cut.
double shortest(std::size_t stages, std::size_t units, const planners::RunCost& time,
                std::int64_t micro_batches, Ends ends = {}) {
  if (ends.size() + 1 == stages) {
    ends.push_back(units);
    return planners::critical_path(ends, time, micro_batches).seconds;
  }
  double best = std::numeric_limits<double>::infinity();
  const std::size_t from = ends.empty() ? 0 : ends.back();
  for (std::size_t end = from + 1; end + (stages - ends.size() - 1) <= units; ++end) {
    Ends longer = ends;
    longer.push_back(end);
    best = std::min(best, shortest(stages, units, time, micro_batches, longer));
  }
  return best;
}

}  // namespace

TEST_CASE("the critical path goes down to the slowest stage, stays, and comes back") {
  // Stages of 2, 5 and 3 s forward and backward, 4 micro-batches. Through stage 1 it is 2 + 4 * 5 = 22 s; 8 s
  // and 7 + 12 = 19 s through the others.
  const auto time = sums({2, 5, 3});
  const auto path = planners::critical_path({1, 2, 3}, time, 4);
  CHECK(path.seconds == 22);
  CHECK(path.stage == 1);
  // Equal stages: the last one's path is longest.
  CHECK(planners::critical_path({1, 2, 3}, sums({1, 1, 1}), 4).stage == 2);
}

TEST_CASE(
    "the critical last stage gives its first operator away, though the stage before becomes the largest") {
  // 5 1 4, two stages, 2 micro-batches. Balanced: 5 | 1 4, whose path through the last stage takes 5 + 2 * 5
  // = 15 s. Of 5 1 | 4 both are shorter: 2 * 6 = 12 and 6 + 2 * 4 = 14 s.
  const auto time = sums({5, 1, 4});
  CHECK(planners::BalancedCuts(2, 3, time).ends(2, 3) == Ends{1, 3});
  CHECK(planners::critical_path({1, 3}, time, 2).seconds == 15);
  const Ends found = planners::move_critical(2, 3, time, 2, {});
  CHECK(found == Ends{2, 3});
  CHECK(planners::critical_path(found, time, 2).seconds == 14);
}

TEST_CASE("moves never lengthen the balanced cut's path, and mostly reach the shortest") {
  int optimal = 0, all = 0, moved = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    CAPTURE(seed);
    core::Random random(seed);
    std::vector<double> weights;
    for (int u = random.between(2, 10); u > 0; --u) weights.push_back(random.between(1, 20));
    const auto stages =
        static_cast<std::size_t>(random.between(1, std::min(5, static_cast<int>(weights.size()))));
    const std::int64_t micro_batches = random.between(1, 12);
    const auto time = sums(weights);
    const auto length = [&](const Ends& ends) {
      return planners::critical_path(ends, time, micro_batches).seconds;
    };
    const Ends found = planners::move_critical(stages, weights.size(), time, micro_batches, {});
    const double start =
        length(planners::BalancedCuts(stages, weights.size(), time).ends(stages, weights.size()));
    const double best = shortest(stages, weights.size(), time, micro_batches);
    CHECK(length(found) <= start);
    CHECK(length(found) >= best);
    moved += length(found) < start;
    optimal += length(found) == best;
    ++all;
  }
  MESSAGE("shortest path reached in ", optimal, " of ", all, ", better than the start in ", moved);
  CHECK(moved > 20);
  CHECK(optimal * 10 > all * 9);
}
