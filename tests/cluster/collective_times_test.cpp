#include "penstock/cluster/collective_times.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "penstock/core/error.hpp"
#include "support/near.hpp"

using namespace penstock;
using cluster::CollectiveKind;
using cluster::CollectiveTimes;
using core::Bytes;
using support::near;
using Reach = CollectiveTimes::LookupReach;

namespace {

/// 1 us times ranks^2 and the square root of bytes, of 2 and 8 ranks.
CollectiveTimes powers() {
  std::vector<cluster::CollectiveTime> rows;
  for (const std::int64_t ranks : {2, 8})
    for (const std::int64_t bytes : {100, 10000, 1000000})
      rows.push_back({CollectiveKind::all_reduce, ranks, bytes,
                      1e-6 * static_cast<double>(ranks * ranks) * std::sqrt(static_cast<double>(bytes))});
  return CollectiveTimes(std::move(rows));
}

}  // namespace

TEST_CASE("collectives between measured sizes and ranks follow powers") {
  const auto times = powers();
  const auto of = [&](std::int64_t ranks, std::int64_t bytes) {
    return times.find(CollectiveKind::all_reduce, ranks, Bytes(bytes));
  };
  CHECK(of(2, 10000)->time.value() == near(4e-4));
  CHECK(of(2, 10000)->reach == Reach::measured);
  CHECK(of(2, 40000)->time.value() == near(8e-4));
  CHECK(of(2, 40000)->reach == Reach::interpolated);
  CHECK(of(4, 10000)->time.value() == near(16e-4));  // half way, in logarithms
  CHECK(of(4, 10000)->reach == Reach::interpolated);
  CHECK(of(2, 1)->time.value() == near(4e-5));  // as the smallest
  CHECK(of(2, 1)->reach == Reach::extrapolated);
  CHECK(of(2, 4000000)->time.value() == near(4 * 4e-3));  // at the largest one's rate
  CHECK(of(4, 4000000)->reach == Reach::extrapolated);
  CHECK_FALSE(of(16, 100));
  CHECK_FALSE(of(1, 100));
  CHECK_FALSE(of(2, 0));
  CHECK_FALSE(times.find(CollectiveKind::all_gather, 2, Bytes(100)));
}

TEST_CASE("a larger tensor takes no less, of equal points the slowest counts") {
  const CollectiveTimes times({{CollectiveKind::all_to_all, 2, 100, 3e-6},
                               {CollectiveKind::all_to_all, 2, 200, 2e-6},
                               {CollectiveKind::all_to_all, 2, 400, 4e-6},
                               {CollectiveKind::all_to_all, 2, 400, 5e-6}});
  const auto of = [&](std::int64_t bytes) {
    return times.find(CollectiveKind::all_to_all, 2, Bytes(bytes))->time.value();
  };
  CHECK(of(200) == near(3e-6));
  CHECK(of(400) == near(5e-6));
}

TEST_CASE("collectives by name") {
  for (std::size_t k = 0; k < cluster::kCollectiveKinds; ++k) {
    const auto kind = static_cast<CollectiveKind>(k);
    CHECK(cluster::collective_kind(name(kind)) == kind);
  }
  CHECK_THROWS_AS(cluster::collective_kind("broadcast"), core::BadInput);
}

TEST_CASE("the slower of two times of one size counts, in either order") {
  for (const bool slow_first : {true, false}) {
    const CollectiveTimes times({{CollectiveKind::all_reduce, 2, 100, slow_first ? 5.0 : 3.0},
                                 {CollectiveKind::all_reduce, 2, 100, slow_first ? 3.0 : 5.0}});
    CHECK(times.find(CollectiveKind::all_reduce, 2, Bytes(100))->time.value() == near(5));
  }
}
