#include "penstock/jobs/job_life.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "penstock/core/error.hpp"
#include "support/near.hpp"

using namespace penstock;
using core::Seconds;
using jobs::FailureCosts;
using jobs::FaultPolicy;
using jobs::JobSetting;

namespace {

constexpr std::int64_t kManyFailures = 200'000;
constexpr double kHour = 3600;

double simulated(const JobSetting& setting, std::uint64_t seed = 1) {
  return jobs::job_life(setting, kManyFailures, seed).goodput();
}

/// Failures so rare to so frequent that goodput goes from 0.97 to below a third.
const std::vector<FailureCosts> kCosts = {{Seconds(5 * kHour), Seconds(60), Seconds(300)},
                                          {Seconds(3 * kHour), Seconds(5), Seconds(600)},
                                          {Seconds(0.5 * kHour), Seconds(120), Seconds(900)}};

}  // namespace

TEST_CASE("a job that restarts has the goodput of Daly's closed form") {
  for (const FailureCosts& costs : kCosts)
    for (const double times : {0.3, 1.0, 3.0}) {
      const Seconds interval = jobs::daly_interval(costs) * times;
      CAPTURE(costs.mtbf.value());
      CAPTURE(times);
      CHECK(simulated({costs, interval}) == support::near(jobs::goodput(costs, interval), 0.01));
    }
}

TEST_CASE("a job with spares waits as Erlang's formula states") {
  for (const int spares : {0, 1, 2, 5})
    for (const FailureCosts& costs : kCosts) {
      const Seconds interval = jobs::daly_interval(costs), repair = costs.mtbf * 2;
      const double expected =
          jobs::goodput(costs, interval) * (1 - jobs::waiting_share(costs.mtbf, spares, repair));
      CAPTURE(spares);
      CHECK(simulated({costs, interval, FaultPolicy::spare, spares, repair}) ==
            support::near(expected, 0.01));
    }
}

TEST_CASE("a job that shrinks at no cost has the mean speed of replicas that fail by themselves") {
  // Each of 4 replicas fails every 4 x 10 h and is repaired in 20 h: it is there 40 / 60 of the time, whatever the others do. Speeds
  // are 1, 0.7, 0.5 and 0.2 with 0 to 3 lost; without any replica the job waits.
  const double there = 40.0 / 60;
  const std::vector<double> ways = {1, 4, 6, 4}, speeds = {1, 0.7, 0.5, 0.2};
  double expected = 0;
  for (std::size_t lost = 0; lost < 4; ++lost)
    expected += ways[lost] * std::pow(there, 4.0 - static_cast<double>(lost)) *
                std::pow(1 - there, static_cast<double>(lost)) * speeds[lost];
  const FailureCosts costs{Seconds(10 * kHour), Seconds(1e-3), Seconds(0)};
  const JobSetting setting{costs, Seconds(60), FaultPolicy::shrink, 0, Seconds(20 * kHour), 4, [&](int lost) {
                             return speeds.at(static_cast<std::size_t>(lost));
                           }};
  const auto life = jobs::job_life(setting, kManyFailures, 3);
  CHECK(life.goodput() == support::near(expected, 0.01));
  CHECK(life.waiting.value() / life.wall.value() == support::near(std::pow(1 - there, 4), 0.03));
}

TEST_CASE("the parts of a job's life sum up to its wall time, and seeds repeat") {
  const JobSetting setting{
      kCosts[2], Seconds(600), FaultPolicy::shrink, 1, Seconds(2 * kHour), 3, [](int lost) {
        return 1 - lost / 3.0;
      }};
  const auto life = jobs::job_life(setting, 5000, 7), again = jobs::job_life(setting, 5000, 7);
  const Seconds parts = life.computing + life.lost + life.checkpoints + life.restarts + life.waiting;
  CHECK(parts.value() == support::near(life.wall.value(), 1e-9));
  CHECK(life.failures >= 5000);
  CHECK(life.shrunk.value() > 0);
  CHECK(life.progress_s < life.computing.value());
  CHECK(again.wall == life.wall);
  CHECK(jobs::job_life(setting, 5000, 8).wall != life.wall);
}

TEST_CASE("one replica cannot shrink: it waits as a job with spares") {
  JobSetting setting{kCosts[0], Seconds(1000), FaultPolicy::shrink, 1, Seconds(3 * kHour)};
  const double shrink = simulated(setting);
  setting.policy = FaultPolicy::spare;
  CHECK(simulated(setting) == shrink);
}

TEST_CASE("policies are known by name") {
  for (const std::string_view name : jobs::fault_policy_names())
    CHECK(jobs::name(jobs::fault_policy(name)) == name);
  CHECK_THROWS_AS(jobs::fault_policy("pray"), core::BadInput);
}
