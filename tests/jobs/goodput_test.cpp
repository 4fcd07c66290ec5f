#include "penstock/jobs/goodput.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "support/near.hpp"

using namespace penstock;
using core::Seconds;
using jobs::FailureCosts;

namespace {

/// Goodput of the best of many intervals.
double best_goodput(const FailureCosts& costs) {
  double out = 0;
  for (double interval = costs.mtbf.value() * 1e-4; interval < 3 * costs.mtbf.value(); interval *= 1.001)
    out = std::max(out, jobs::goodput(costs, Seconds(interval)));
  return out;
}

}  // namespace

TEST_CASE("Young's interval is the root of twice the checkpoint times the MTBF") {
  // 2 x 50 s x 10,000 s = 1,000,000 s^2
  CHECK(jobs::young_interval({Seconds(10'000), Seconds(50), Seconds(0)}).value() == support::near(1000.0));
}

TEST_CASE("Daly's interval is that of his figures 3 to 5") {
  // 500 hours of work, 10 minutes to restart, 5 minutes for a checkpoint; MTBF 24 h, 6 h and 15 min: 117, 57 and 9.1 minutes.
  const auto minutes = [](double mtbf_h) {
    return jobs::daly_interval({Seconds(mtbf_h * 3600), Seconds(300), Seconds(600)}).value() / 60;
  };
  CHECK(std::round(minutes(24)) == 117);
  CHECK(std::round(minutes(6)) == 57);
  CHECK(std::round(minutes(0.25) * 10) == 91);
  CHECK(jobs::daly_interval({Seconds(10), Seconds(20), Seconds(1)}) == Seconds(10));
}

TEST_CASE("Daly's interval is nearly as good as the best, also where checkpoints are long") {
  for (const double checkpoint : {1.0, 60.0, 600.0, 3600.0, 7000.0}) {
    const FailureCosts costs{Seconds(3600), Seconds(checkpoint), Seconds(60)};
    const double best = best_goodput(costs), daly = jobs::goodput(costs, jobs::daly_interval(costs));
    CAPTURE(checkpoint);
    CHECK(daly <= best * (1 + 1e-6));
    CHECK(daly >= best * 0.998);
  }
}

TEST_CASE("goodput of a segment that fails half of the time, by hand") {
  // A segment as long as ln 2 MTBFs fails with probability 1/2. Until it succeeds it takes MTBF x (e^ln2 - 1) = 1 MTBF on average.
  const double mtbf = 1000, segment = std::log(2.0) * mtbf, checkpoint = 100;
  const FailureCosts costs{Seconds(mtbf), Seconds(checkpoint), Seconds(0)};
  CHECK(jobs::goodput(costs, Seconds(segment - checkpoint)) == support::near((segment - checkpoint) / mtbf));
}

TEST_CASE("a job waits as often as a telephone exchange refuses calls") {
  // No spare, repairs as long as the MTBF: half of the time. One spare: 1/2 of a^2/2 over 1 + a + a^2/2 = 1/5.
  CHECK(jobs::waiting_share(Seconds(5), 0, Seconds(5)) == support::near(0.5));
  CHECK(jobs::waiting_share(Seconds(5), 1, Seconds(5)) == support::near(0.2));
  CHECK(jobs::waiting_share(Seconds(5), 3, Seconds(0)) == 0);
}
