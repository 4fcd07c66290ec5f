#include <doctest/doctest.h>

#include <algorithm>

#include "penstock/core/random.hpp"
#include "planners/pipedream/pipedream_2bw_model.hpp"
#include "support/near.hpp"
#include "support/pipedream_reference.hpp"
#include "support/reference_data.hpp"

using namespace penstock;
using namespace penstock::planners;
using penstock::support::near;

TEST_CASE("appendix A: compute and transfers of the slowest stage, or its share of an all-reduce") {
  // Two stages, 1 + 2 s and 2 + 4 s; 3 B between them at 2 B/s: 2 * 3 / 2 = 3 s each.
  const std::vector<TwoBwStage> stages{{1, 2, 80, 10, 0, 3}, {2, 4, 40, 10, 3, 0}};
  CHECK(two_bw_seconds(stages, {1, 4, false, 1, 2}) == 9);
  CHECK(two_bw_seconds(stages, {1, 4, true, 1, 2}) == 11);  // the forward again
  // Twice as wide: 2 * 1/2 * 80 B at 2 B/s are 40 s, over 4 micro-batches 10.
  CHECK(two_bw_seconds(stages, {2, 4, false, 2, 2}) == 10);
  CHECK(two_bw_seconds(stages, {2, 8, false, 2, 2}) == 9);
  CHECK(two_bw_seconds({stages[1]}, {1, 4, false, 1, 2}) == 6);  // by itself it transfers nothing
  CHECK(two_bw_bytes(stages[1], {1, 4, false, 1, 2}, 2) == 2 * 40 + 2 * 10 + 2 * 3);
  CHECK(two_bw_bytes(stages[1], {1, 4, true, 1, 2}, 2) == 2 * 40 + 10 + 2 * 3);
}

namespace {

double heaviest(const std::vector<double>& work, const std::vector<std::size_t>& ends) {
  double most = 0;
  std::size_t i = 0;
  for (std::size_t end : ends) {
    double sum = 0;
    for (; i < end; ++i) sum += work[i];
    most = std::max(most, sum);
  }
  return most;
}

/// Over all ends.
double least_heaviest(const std::vector<double>& work, std::size_t parts,
                      std::vector<std::size_t> ends = {}) {
  if (ends.size() + 1 == parts) {
    ends.push_back(work.size());
    return heaviest(work, ends);
  }
  double least = 1e300;
  for (std::size_t end = ends.empty() ? 1 : ends.back() + 1; end < work.size(); ++end) {
    ends.push_back(end);
    least = std::min(least, least_heaviest(work, parts, ends));
    ends.pop_back();
  }
  return least;
}

}  // namespace

TEST_CASE("equal blocks are cut equally; any row as evenly as it can be") {
  CHECK(balanced_ends(std::vector<double>(8, 1.0), 4) == std::vector<std::size_t>{2, 4, 6, 8});
  CHECK(balanced_ends({5}, 1) == std::vector<std::size_t>{1});
  CHECK(balanced_ends({0, 0, 0}, 3) == std::vector<std::size_t>{1, 2, 3});
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    core::Random random(seed);
    std::vector<double> work;
    for (int i = random.between(1, 8); i > 0; --i) work.push_back(random.chance(0.2) ? 0 : random.unit());
    const int parts = random.between(1, static_cast<int>(work.size()));
    const auto ends = balanced_ends(work, parts);
    CHECK(ends.size() == static_cast<std::size_t>(parts));
    CHECK(std::adjacent_find(ends.begin(), ends.end(), std::greater_equal<>()) == ends.end());
    CHECK(ends.back() == work.size());
    CHECK(heaviest(work, ends) == near(least_heaviest(work, static_cast<std::size_t>(parts)), 1e-11));
  }
}

TEST_CASE("the planner its authors published: width by depth, by hand") {
  // 8 blocks of 1 s, 4 workers. Depth 4: 2 s, memory 4 (2 * 2 p + 2 a 4). Depth 2: 4 s / 2, the same; the
  // first found stays.
  const auto found = dropped_two_bw_planner({8, 4, 1e9, 1, 1000, 10, 10});
  REQUIRE(found);
  CHECK(found->seconds == 2);
  CHECK(found->width * found->depth == 4);
  CHECK_FALSE(dropped_two_bw_planner({8, 4, 16319, 1, 1000, 10, 10}));
  CHECK(dropped_two_bw_planner({8, 4, 16320, 1, 1000, 10, 10})->depth == 4);  // 4 (4000 + 80)
}

TEST_CASE("every answer of that planner is met") {
  const std::string path = support::reference_data("pipedream/expected/pipedream2bw_planner_results.csv");
  if (path.empty()) return;
  const auto rows = support::read_csv(path);
  CHECK(!rows.empty());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CAPTURE(i);
    const auto number = [&](const char* key) { return std::stod(rows[i].at(key)); };
    const auto found = dropped_two_bw_planner(
        {static_cast<int>(number("num_blocks")), static_cast<int>(number("num_workers")),
         number("memory_capacity_bytes"), number("time_per_block_s"), number("params_per_block"),
         number("activations_per_block"), number("output_activation_size")});
    REQUIRE(found.has_value() == (rows[i].at("best_cost_s") != "None"));
    if (!found) continue;
    CHECK(found->seconds == near(number("best_cost_s"), 1e-14));
    CHECK(found->width == static_cast<int>(number("best_w")));
    CHECK(found->depth == static_cast<int>(number("best_d")));
    CHECK(found->memory == near(number("memory_at_best_bytes"), 1e-14));
  }
}
