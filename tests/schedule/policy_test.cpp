#include "penstock/schedule/policy.hpp"

#include <doctest/doctest.h>

#include "penstock/core/error.hpp"
#include "penstock/core/random.hpp"
#include "penstock/schedule/catalogue.hpp"
#include "penstock/schedule/schedule_csv.hpp"
#include "penstock/schedule/schedule_violations.hpp"

using namespace penstock;
using namespace penstock::schedule;

TEST_CASE("the policy of the header is 1F1B") {
  for (int p = 1; p <= 6; ++p) {
    const auto one_f_one_b = [p](const RankChoice& c) -> std::optional<std::size_t> {
      for (std::size_t k = 0; k < c.ready.size(); ++k)
        if (c.ready[k].kind == ActionKind::backward) return k;
      return c.live < p - c.rank ? std::optional<std::size_t>(0) : std::nullopt;
    };
    const Schedule schedule = schedule_by_policy({loop_placement(p, 1), p, 3 * p}, one_f_one_b);
    ScheduleShape shape;
    shape.ranks = p;
    shape.micro_batches = 3 * p;
    CHECK(to_csv(schedule) == to_csv(make_schedule("1f1b", shape)));
  }
}

TEST_CASE("schedules of any policy have no faults") {
  core::Random random(3);
  for (int trial = 0; trial < 100; ++trial) {
    const int p = random.between(1, 5), v = random.between(1, 3), m = random.between(1, 9);
    const auto any = [&](const RankChoice& c) -> std::optional<std::size_t> {
      return static_cast<std::size_t>(random.between(0, static_cast<int>(c.ready.size()) - 1));
    };
    const auto placement = random.chance(0.5) ? loop_placement(p, v) : zigzag_placement(p, v);
    const Schedule schedule = schedule_by_policy({placement, p, m, random.chance(0.5)}, any);
    CHECK(schedule_violations(schedule, m) == std::vector<std::string>{});
  }
}

TEST_CASE("a policy that never starts anything is reported") {
  CHECK_THROWS_WITH_AS(schedule_by_policy({loop_placement(2, 1), 2, 1},
                                          [](const RankChoice&) { return std::optional<std::size_t>(); }),
                       "the policy lets every rank wait for ever", core::Error);
}

TEST_CASE("messages take a delay between ranks, not within one; a whole backward pass both its halves") {
  const auto deepest = [](const RankChoice& c) -> std::optional<std::size_t> {
    std::size_t best = 0;
    for (std::size_t k = 1; k < c.ready.size(); ++k) {
      const Action &a = c.ready[k], &b = c.ready[best];
      const bool back = a.kind == ActionKind::backward, best_back = b.kind == ActionKind::backward;
      if (back != best_back ? back : a.stage > b.stage) best = k;
    }
    return best;
  };
  PassCosts costs{core::Picoseconds(1), core::Picoseconds(1), core::Picoseconds(3), core::Picoseconds(5)};
  // Two stages on one rank: the second is ready at once.
  CHECK(to_csv(schedule_by_policy({loop_placement(1, 2), 1, 2, false, costs}, deepest)) ==
        "0F0,1F0,1B0,0B0,0F1,1F1,1B1,0B1\n");
  // Two ranks without delay: the last one's backward of four units ends at 6, when the first has run six
  // forwards.
  costs.delay = core::Picoseconds(0);
  CHECK(to_csv(schedule_by_policy({loop_placement(2, 1), 2, 8, false, costs}, deepest))
            .starts_with("0F0,0F1,0F2,0F3,0F4,0F5,0B0,"));
}
