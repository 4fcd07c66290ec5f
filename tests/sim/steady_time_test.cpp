// Long iterations by their period: the time of the full run, to the picosecond.

#include "steady/steady_time.hpp"

#include <doctest/doctest.h>

#include "penstock/core/random.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "penstock/score/order.hpp"
#include "penstock/sim/perturbation.hpp"
#include "support/random_plan.hpp"
#include "tasks/prepare.hpp"

using namespace penstock;

namespace {

core::Picoseconds full_time(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                            const sim::SimulationOptions& options) {
  const sim::AbridgedPlan run = sim::abridged(problem, scheduled, options);
  return sim::time_of(run.plan, run.iteration, options);
}

/// Number of plans that were skipped, of those that were drawn.
struct SkippedPlans {
  int all = 0, skipped = 0;
};

/// Plans of the seed's kind, several times as long. Where each stage has an order of its
/// own, stages may also differ in their micro-batches.
void compare(std::uint64_t seed, int most_group, SkippedPlans& count) {
  core::Random random(seed + 1'000'000);
  support::RandomPlan drawn = support::random_plan(seed, most_group);
  if (plan::asynchronous(drawn.plan)) return;
  drawn.plan.training.mini_batch *= random.between(3, 10);
  const bool own = schedule::per_stage(drawn.plan);
  for (plan::Stage& stage : drawn.plan.stages)
    if (own && random.chance(0.3)) stage.micro_batch *= 2;
  drawn.options.crowding = random.chance(0.5);
  if (most_group > 1 && random.chance(0.3)) drawn.options.pass_collectives = sim::PassCollectives::links;
  score::derive_in_flight(drawn.problem(), drawn.plan);
  const auto scheduled = score::scheduled(drawn.problem(), drawn.plan);
  INFO(seed, " ", most_group, " ", drawn.plan.schedule);
  const auto time = sim::steady_time(drawn.problem(), scheduled, drawn.options, random.between(2, 3));
  ++count.all;
  if (!time) return;
  ++count.skipped;
  CHECK(*time == full_time(drawn.problem(), scheduled, drawn.options));
}

void compare_many(std::uint64_t first, std::uint64_t seeds, int most_group) {
  SkippedPlans count;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) compare(seed, most_group, count);
  MESSAGE(count.skipped, " of ", count.all);
  CHECK(count.skipped * 5 >= count.all);
}

}  // namespace

TEST_CASE("iterations that perturbations, ordered messages or mini-batches set apart are not skipped") {
  support::RandomPlan drawn = support::random_plan(0);  // 1F1B
  drawn.plan.training.mini_batch *= 10;
  const auto time = [&](const sim::SimulationOptions& options) {
    return sim::steady_time(drawn.problem(), score::scheduled(drawn.problem(), drawn.plan), options, 2);
  };
  CHECK(time({}));
  sim::SimulationOptions ordered, perturbed;
  ordered.message_order = sim::MessageOrder::in_order;
  CHECK(!time(ordered));
  const sim::Perturbation nothing;
  perturbed.perturbation = &nothing;
  CHECK(!time(perturbed));
  drawn.plan.schedule = "pipedream";
  CHECK(!time({}));
}

TEST_CASE("skipped periods leave the time of the full run, on random plans of all kinds") {
  for (const int most_group : {1, 3}) compare_many(0, 120, most_group);
}

TEST_CASE("skipped periods leave the time of the full run, on thousands of random plans" *
          doctest::test_suite("slow")) {
  for (const int most_group : {1, 3}) compare_many(1000, 1500, most_group);
}
