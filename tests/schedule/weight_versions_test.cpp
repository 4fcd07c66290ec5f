#include "penstock/schedule/weight_versions.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "penstock/core/error.hpp"
#include "penstock/core/random.hpp"
#include "penstock/schedule/catalogue.hpp"
#include "penstock/schedule/schedule_csv.hpp"

using namespace penstock;
using namespace penstock::schedule;

namespace {

std::vector<RankOrder> one_f_one_b(int ranks, int micro_batches) {
  ScheduleShape shape;
  shape.ranks = ranks, shape.micro_batches = micro_batches;
  return make_schedule("1f1b", shape).ranks;
}

/// Compares the versions by a rule for each forward and backward (of micro-batch k on rank r) with every
/// cell.
template <class Rule>
void check_staleness(const std::vector<RankOrder>& rows, const WeightVersions& found, Rule rule) {
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::size_t c = 0; c < rows[r].size(); ++c) {
      CAPTURE(r);
      CAPTURE(c);
      CHECK(found.staleness[r][c] ==
            rule(static_cast<int>(r), rows[r][c].micro_batch, rows[r][c].kind == ActionKind::forward));
    }
}

}  // namespace

TEST_CASE("stashing on two ranks, by hand") {
  // Rank 0: F0 F1 B0 F2 B1 B2. F2 runs after one update where sequential training has made two. When F2 runs,
  // micro-batch 1 still needs version 0, micro-batch 2 version 1, which is the newest: two versions.
  const auto rows = one_f_one_b(2, 3);
  const auto found = weight_versions(rows, weight_policy("stashing"));
  CHECK(found.held == std::vector<int>{2, 1});
  CHECK(found.staleness[0] == std::vector<int>{0, 1, 0, 1, 1, 1});
  CHECK(found.staleness[1] == std::vector<int>{0, 0, 0, 0, 0, 0});
}

TEST_CASE("PipeDream on n ranks: rank r keeps n - r versions and misses n - 1 - r updates") {
  for (int n = 1; n <= 8; ++n) {
    const auto rows = one_f_one_b(n, 4 * n);
    const auto found = weight_versions(rows, weight_policy("stashing"));
    for (int r = 0; r < n; ++r) CHECK(found.held[static_cast<std::size_t>(r)] == n - r);
    check_staleness(rows, found, [n](int r, int k, bool) { return std::min(k, n - 1 - r); });
  }
}

TEST_CASE("vertical sync: every stage keeps n versions and misses n - 1 updates") {
  for (int n = 1; n <= 8; ++n) {
    const auto rows = one_f_one_b(n, 4 * n);
    const auto found = weight_versions(rows, weight_policy("vertical_sync"));
    CHECK(found.held == std::vector<int>(static_cast<std::size_t>(n), n));
    check_staleness(rows, found, [n](int, int k, bool) { return std::min(k, n - 1); });
  }
}

TEST_CASE("1F1B-RR: floor((R-1-earlier)/replicas) + 1 versions, over random replicas") {
  core::Random random(21);
  for (int trial = 0; trial < 100; ++trial) {
    std::vector<int> replicas;
    int ranks = 0;
    for (int s = random.between(1, 5); s > 0; --s) ranks += replicas.emplace_back(random.between(1, 4));
    const auto found =
        weight_versions(round_robin_orders(replicas, 12 * 4 * ranks), weight_policy("stashing"));
    std::vector<int> expected;
    int earlier = 0;
    for (const int count : replicas) {
      for (int r = 0; r < count; ++r) expected.push_back((ranks - 1 - earlier) / count + 1);
      earlier += count;
    }
    CHECK(found.held == expected);
  }
  // VGG-16 on 16 devices, 15-1: two versions on the input stage, one on the last.
  auto fifteen = std::vector<int>(15, 2);
  fifteen.push_back(1);
  CHECK(weight_versions(round_robin_orders({15, 1}, 60), weight_policy("stashing")).held == fifteen);
}

TEST_CASE("round robin: micro-batch b goes to replica b mod r, with warm-up by rank") {
  Schedule schedule;
  schedule.ranks = round_robin_orders({2, 1}, 4);
  CHECK(to_csv(schedule) == "0F0,0F2,0B0,0B2\n0F1,0F3,0B1,0B3\n1F0,1B0,1F1,1B1,1F2,1B2,1F3,1B3\n");
  CHECK_THROWS_WITH_AS(round_robin_orders({2, 3}, 4), "4 micro-batches do not go evenly to 3 replicas",
                       core::BadInput);
  CHECK_THROWS_AS(round_robin_orders({0}, 4), core::BadInput);
}

TEST_CASE("2BW: version max(floor(k/g) - 1, 0), two at once, one update missed") {
  core::Random random(22);
  for (int trial = 0; trial < 100; ++trial) {
    const int n = random.between(1, 8), g = n + random.between(0, 5);
    const auto rows = one_f_one_b(n, g * random.between(3, 5));
    const auto found = weight_versions(rows, weight_policy("double_buffered"), g);
    CHECK(found.held == std::vector<int>(static_cast<std::size_t>(n), 2));
    check_staleness(rows, found, [g](int, int k, bool) { return std::min(k / g, 1); });
  }
}

TEST_CASE("the place of 2BW with too few micro-batches per update is reported") {
  // Rank 0 of 4 has 4 in flight, so forward 4 runs after one backward; with g = 2 it wants floor(4/2) - 1 = 1
  // update, which takes 2.
  const auto rows = one_f_one_b(4, 12);
  CHECK_THROWS_WITH_AS(weight_versions(rows, weight_policy("double_buffered"), 2),
                       "rank 0 cell 5 (0F4): wants weights after 1 updates, but there have been 0; more "
                       "micro-batches per update are needed",
                       core::BadInput);
  CHECK_NOTHROW(weight_versions(rows, weight_policy("double_buffered"), 4));
  CHECK_THROWS_AS(weight_versions(rows, weight_policy("stashing"), 0), core::BadInput);
}

TEST_CASE("PipeMare and XPipe keep one version: forwards miss n - 1 - r updates, backwards none") {
  for (const char* policy : {"latest", "predicted"})
    for (int n = 1; n <= 6; ++n) {
      const auto rows = one_f_one_b(n, 3 * n);
      const auto found = weight_versions(rows, weight_policy(policy));
      CHECK(found.held == std::vector<int>(static_cast<std::size_t>(n), 1));
      check_staleness(rows, found,
                      [n](int r, int k, bool ahead) { return ahead ? std::min(k, n - 1 - r) : 0; });
    }
}

TEST_CASE("a flush keeps one version in every family and misses nothing") {
  for (const ScheduleFamily& family : families()) {
    if (family.weights != "flush") continue;
    ScheduleShape shape;
    shape.ranks = 4, shape.micro_batches = 8;
    const auto found =
        weight_versions(make_schedule(family.name, shape).ranks, weight_policy(family.weights));
    CHECK(found.held == std::vector<int>(4, 1));
    for (const auto& row : found.staleness) CHECK(*std::max_element(row.begin(), row.end()) == 0);
  }
}

TEST_CASE("split backwards free a version with the weight gradient; unknown policies get a hint") {
  // F0 F1 I0 W0 F2 ...: the update is W's, so F2 sees one; I1 still uses version 0.
  const auto rows = parse_schedule("0F0,0F1,0I0,0W0,0F2,0I1,0W1,0I2,0W2", "g").ranks;
  const auto found = weight_versions(rows, weight_policy("stashing"));
  CHECK(found.held == std::vector<int>{2});
  CHECK(found.staleness[0] == std::vector<int>{0, 1, 0, -1, 1, 1, -1, 1, -1});
  CHECK_THROWS_WITH_AS(weight_policy("latests"), "unknown weight policy 'latests'; did you mean 'latest'?",
                       core::BadInput);
}

TEST_CASE("the first of two ranks holds two versions until the second of two micro-batches is done") {
  // F0 F1 B0 B1: after B0 there are new weights, and F1's are still needed.
  const auto found = weight_versions(one_f_one_b(2, 2), weight_policy("stashing"), 1);
  CHECK(found.held == std::vector<int>{2, 1});
}

TEST_CASE("vertical sync of two replicas in front: an update of each is one of the stage") {
  // The first replica: F0, F2, B0, F4, B2, F6, ...; every forward but the first is one update behind.
  const auto rows = round_robin_orders({2, 1}, 8);
  const auto found = weight_versions(rows, weight_policy("vertical_sync"), 1);
  std::vector<int> behind;
  for (std::size_t c = 0; c < rows[0].size(); ++c)
    if (rows[0][c].kind == ActionKind::forward) behind.push_back(found.staleness[0][c]);
  CHECK(behind == std::vector<int>{0, 1, 1, 1});
}
