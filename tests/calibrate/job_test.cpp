#include "penstock/calibrate/job.hpp"

#include <doctest/doctest.h>

#include <atomic>

#include "penstock/core/error.hpp"

using namespace penstock;
using calibrate::CalibrationJob;
using calibrate::JobOutcome;
using calibrate::JobProgress;
using core::Seconds;
using Names = std::vector<std::string>;

namespace {

/// Jobs whose results are details of the identity, on a clock that only they move.
struct JobFixture {
  double now = 0;
  std::vector<CalibrationJob> jobs;
  cost::Calibration calibration;
  std::vector<std::size_t> saved;  ///< how many results each save held
  std::vector<double> left;
  std::atomic<bool> stopped = false;

  void add(const std::string& name, double estimate, double takes) {
    const auto done = [name](const cost::Calibration& c) {
      return std::any_of(c.identity.details.begin(), c.identity.details.end(),
                         [&](const auto& d) { return d.first == name; });
    };
    const auto run = [this, name, takes](cost::Calibration& c) {
      now += takes;
      c.identity.details.emplace_back(name, "done");
    };
    jobs.push_back({name, Seconds(estimate), false, done, run});
  }

  JobOutcome run(std::optional<Seconds> budget = {}) {
    const calibrate::JobCallbacks watch{
        [this] { return Seconds(now); },
        [this](const cost::Calibration& c) { saved.push_back(c.identity.details.size()); },
        [this](const JobProgress& p) { left.push_back(p.left.value()); }};
    return calibrate::run_jobs(jobs, calibration, budget, watch, core::StopToken(&stopped));
  }
};

}  // namespace

TEST_CASE("all jobs are done in order, and what is left is scaled by what was") {
  JobFixture yard;
  for (const char* name : {"a", "b", "c"}) yard.add(name, 1, 2);  // each takes twice its estimate
  const JobOutcome out = yard.run();
  CHECK(out.measured == 3);
  CHECK_FALSE(out.interrupted);
  CHECK(yard.left == std::vector<double>{4, 2, 0});
  CHECK(yard.calibration.identity.details[0].first == "a");
}

TEST_CASE("results are saved every five seconds and at the end") {
  JobFixture yard;
  for (const char* name : {"a", "b", "c", "d", "e"}) yard.add(name, 2, 2);
  yard.run();
  CHECK(yard.saved == std::vector<std::size_t>{3, 5});  // after 6 s, and after all
}

TEST_CASE("a second call goes on where the first was interrupted") {
  JobFixture yard;
  yard.add("a", 1, 1);
  yard.add("b", 1, 1);
  yard.jobs[1].run = [&](cost::Calibration&) { throw core::InterruptedError(); };
  CHECK(yard.run().interrupted);
  CHECK(yard.saved == std::vector<std::size_t>{1});
  yard.jobs.pop_back();
  yard.add("b", 1, 1);
  const JobOutcome out = yard.run();
  CHECK(out.known == 1);
  CHECK(out.measured == 1);
  CHECK(yard.calibration.identity.details.size() == 2);
}

TEST_CASE("Ctrl-C between jobs keeps what there is") {
  JobFixture yard;
  yard.add("a", 1, 1);
  yard.stopped = true;
  const JobOutcome out = yard.run();
  CHECK(out.interrupted);
  CHECK(out.measured == 0);
  CHECK(yard.saved.size() == 1);
}

// 10 s; a takes 4 and not 2, so b is taken for 12 and passed over; c for 6 and fits to the second.
TEST_CASE("a budget passes over what does not fit, with estimates corrected") {
  JobFixture yard;
  yard.add("a", 2, 4);
  yard.add("b", 6, 6);
  yard.add("c", 3, 6);
  yard.add("d", 0.1, 0.2);
  const JobOutcome out = yard.run(Seconds(10));
  CHECK(out.measured == 2);
  CHECK(out.unmeasured == Names{"b", "d"});
  CHECK(yard.now == 10);
}

TEST_CASE("essential jobs are done without a budget too") {
  JobFixture yard;
  yard.add("a", 2, 2);
  yard.jobs[0].essential = true;
  yard.add("b", 2, 2);
  CHECK(yard.run(Seconds(1)).unmeasured == Names{"b"});
  CHECK(yard.now == 2);
}

TEST_CASE("a job that the device refuses is noted, and the others go on") {
  JobFixture yard;
  yard.add("a", 1, 1);
  yard.jobs[0].run = [](cost::Calibration&) { throw core::BadInput("no room"); };
  yard.add("b", 1, 1);
  const JobOutcome out = yard.run();
  CHECK(out.refused == Names{"a: no room"});
  CHECK(out.measured == 1);
}

TEST_CASE("a defect is not noted but thrown") {
  JobFixture yard;
  yard.add("a", 1, 1);
  yard.jobs[0].run = [](cost::Calibration&) { core::require(false, "no defects"); };
  CHECK_THROWS_AS(yard.run(), core::Error);
}

TEST_CASE("time left is that of jobs not done") {
  JobFixture yard;
  yard.add("a", 1, 1);
  yard.add("b", 2, 2);
  CHECK(time_left(yard.jobs, yard.calibration).value() == 3);
  yard.jobs[0].run(yard.calibration);
  CHECK(time_left(yard.jobs, yard.calibration).value() == 2);
}

TEST_CASE("jobs predicted for a budget are those that run if every job takes its estimate") {
  for (const double budget : {0.0, 3.0, 4.5, 100.0}) {
    CAPTURE(budget);
    JobFixture yard;
    yard.add("known", 1, 1);
    yard.jobs.front().run(yard.calibration);
    yard.now = 0;
    yard.add("a", 2, 2);
    yard.add("large", 4, 4);
    yard.add("b", 1, 1);
    yard.add("needed", 5, 5);
    yard.jobs.back().essential = true;
    const auto plan = calibrate::jobs_to_run(yard.jobs, yard.calibration, Seconds(budget));
    Names fit;
    for (const CalibrationJob* job : plan.fit) fit.push_back(job->name);
    CHECK(fit.size() == (budget == 0 ? 1 : budget < 4 ? 3 : budget < 100 ? 3 : 4));
    const JobOutcome out = yard.run(Seconds(budget));
    CHECK(out.measured == fit.size());
    CHECK(out.unmeasured.size() == plan.left_out);
    for (const std::string& name : out.unmeasured) CHECK(std::ranges::count(fit, name) == 0);
  }
}
