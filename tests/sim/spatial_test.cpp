// Plans with spatial parallelism: a sum by hand, and at random against the verifier and the bounds.

#include <doctest/doctest.h>

#include "models/catalogue.hpp"
#include "penstock/core/random.hpp"
#include "penstock/cost/sharding.hpp"
#include "penstock/plan/plan_file.hpp"
#include "penstock/score/validate.hpp"
#include "support/judged_plan.hpp"
#include "support/near.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using core::OpId;
using support::stage_of;

namespace {

graph::OpGraph small_vgg() {
  return models::build("vgg16", {{"resolution", "32"}});
}

/// The first two convolutions, of images of 32 x 32.
constexpr std::size_t kConvolutions = 3;

}  // namespace

TEST_CASE("two groups with half of the rows each: half of the work, and borders of the other half") {
  const auto g = small_vgg();
  const auto cluster = support::tiny_cluster(2);
  const support::FlopCosts costs;
  plan::Stage whole = stage_of(0, kConvolutions, 1, 4), halves = stage_of(0, kConvolutions, 2, 4);
  halves.spatial_parallel = 2;
  const cost::Problem problem{g, cluster, costs, {4}};
  const auto one = cost::stage_time(problem, whole, 4), two = cost::stage_time(problem, halves, 4);
  CHECK(two.compute.total().value() == support::near(one.compute.total().value() / 2));
  // Two rows of 32 pixels and 3 channels, then of 64, gathered of both: half of them over 1 GB/s.
  double borders = 0;
  for (std::size_t v = 0; v < kConvolutions; ++v)
    if (const auto* c = std::get_if<graph::Convolution>(&g.op(OpId(v)).attributes))
      borders += 2.0 * 32 * static_cast<double>(c->window.channels) * 4;
  CHECK(two.collectives.forward.value() == support::near(4 * borders / 1e9, 1e-6));
}

TEST_CASE("random plans with spatial groups: no violation, and nothing below a bound") {
  const auto g = small_vgg();
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    core::Random random(seed);
    plan::Plan plan;
    plan.training.mini_batch = 8;
    plan.stages = {stage_of(0, kConvolutions, 4, 4), stage_of(kConvolutions, g.size(), 0, 4)};
    plan.stages[0].spatial_parallel = random.chance(0.5) ? 2 : 4;
    plan.stages[0].zero = random.between(0, 3);
    for (std::size_t d = 4; d < 8; ++d) plan.stages[1].devices.emplace_back(d);
    support::judge_somewhere(g, plan, 8, random);
  }
}

TEST_CASE("what has no rows that groups divide is refused by name") {
  const auto g = small_vgg();
  const auto cluster = support::tiny_cluster(2);
  const support::FlopCosts costs;
  plan::Plan plan;
  plan.training.mini_batch = 4;
  plan.stages = {stage_of(0, g.size(), 2, 4)};
  plan.stages[0].spatial_parallel = 2;
  const auto found = score::violations({g, cluster, costs, plan.training}, plan);
  REQUIRE(!found.empty());
  CHECK(found.front().find("has no rows that 2 groups divide") != std::string::npos);
}
