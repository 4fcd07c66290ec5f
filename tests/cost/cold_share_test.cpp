#include "penstock/cost/cold_share.hpp"

#include <doctest/doctest.h>

#include "penstock/core/random.hpp"
#include "support/near.hpp"
#include "support/small_calibration.hpp"

using namespace penstock;
using namespace penstock::cost;

namespace {

ModelSum run(std::string model, double whole, double cold, double back_to_back) {
  return {std::move(model),
          {},
          1,
          cluster::Precision::fp32,
          support::timing(whole),
          core::Seconds(cold),
          core::Seconds(back_to_back)};
}

/// Sum of squared relative errors.
double squares(const std::vector<ModelSum>& models, double share) {
  double out = 0;
  for (const ModelSum& one : models) {
    const double error = at_share(one.cold_sum, one.back_to_back_sum, share) / one.whole.median - 1;
    out += error * error;
  }
  return out;
}

}  // namespace

TEST_CASE("the share of cold times is where sums meet whole runs") {
  // From 8 to 12 s, 11 s are three quarters of the way.
  const std::vector<ModelSum> one = {run("a", 11, 12, 8)};
  CHECK(cold_share(one) == support::near(0.75));
  CHECK(at_share(core::Seconds(12), core::Seconds(8), 0.75).value() == support::near(11));
  // 11 of 8..12 s gives 3/4, 100 of 99.6..101.6 gives 1/5. The first reaches 4/11 of its run, the second
  // 1/50: (4/11 * 3/11 + 1/50 * 1/250) / ((4/11)^2 + (1/50)^2) = 0.7483.
  CHECK(cold_share(std::vector{run("a", 11, 12, 8), run("b", 100, 101.6, 99.6)}) ==
        support::near(0.7483, 1e-4));
}

TEST_CASE("the share stays between back to back and cold") {
  CHECK(cold_share(std::vector{run("a", 13, 12, 8)}) == 1);
  CHECK(cold_share(std::vector{run("a", 7, 12, 8)}) == 0);
  CHECK(cold_share(std::vector{run("a", 12, 12, 8)}) == support::near(1));
  CHECK(cold_share(std::vector{run("a", 8, 12, 8)}) == support::near(0));
  CHECK(cold_share(std::vector{run("a", 7, 8, 8)}) == 1);  // nothing between them
  CHECK(cold_share({}) == 1);
}

TEST_CASE("no share comes nearer") {
  core::Random random(7);
  for (int i = 0; i < 50; ++i) {
    std::vector<ModelSum> models;
    for (int m = 0; m < 6; ++m) {
      const double warm = 1 + random.unit(), cold = warm + random.unit();
      models.push_back(run("m" + std::to_string(m), warm + random.unit() * (cold - warm), cold, warm));
    }
    const double best = squares(models, cold_share(models));
    for (double share = 0; share <= 1; share += 0.01) CHECK(best <= squares(models, share) + 1e-12);
  }
}

TEST_CASE("a model's runs are predicted from other models") {
  // Without both runs of a, b gives 1/2: 10 s instead of 11. Without b, a gives 3/4: 21 s instead of 20.
  const std::vector<ModelSum> models = {run("a", 11, 12, 8), run("a", 22, 24, 16), run("b", 20, 22, 18)};
  const auto rows = held_out_sums(models);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].share == support::near(0.5));
  CHECK(rows[0].sum.value() == support::near(10));
  CHECK(rows[0].error == support::near(-1.0 / 11));
  CHECK(rows[1].error == support::near(-1.0 / 11));
  CHECK(rows[2].share == support::near(0.75));
  CHECK(rows[2].error == support::near(0.05));
  CHECK(held_out_sums(std::vector{run("a", 11, 12, 8)})[0].share == 1);  // no other run to use
}
