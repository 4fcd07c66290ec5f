// A plan's goodput under failures.
#include "penstock/experiment/faults.hpp"

#include <doctest/doctest.h>

#include <memory>

#include "penstock/cost/analytic.hpp"
#include "penstock/experiment/cell.hpp"
#include "penstock/experiment/inputs.hpp"
#include "support/near.hpp"

using namespace penstock;
using core::Seconds;
using experiment::FaultSetting;
using jobs::FaultPolicy;
using support::near;

namespace {

/// A complete plan of a small model on `cluster`, and its samples per second.
struct FaultCase {
  explicit FaultCase(const std::string& cluster, std::int64_t mini_batch = 128)
      : input(found(cluster, mini_batch)) {}
  static double& rate() {
    static double value = 0;
    return value;
  }
  static experiment::PlanInput found(const std::string& name, std::int64_t mini_batch) {
    const experiment::Cell cell{{"case_study", {{"layers", "1"}}},
                                {name, 0},
                                planners::planner_choice("data_parallel"),
                                {mini_batch, plan::Optimizer::adam},
                                {}};
    experiment::PlanInput out{experiment::load_model(cell.model),
                              std::make_shared<cost::AnalyticCosts>(),
                              experiment::load_cluster(cell.cluster),
                              {}};
    out.plan.training = cell.training;
    const auto outcome = experiment::search(out.problem(), cell, {}, {});
    out.plan = *outcome.plan;
    rate() = *outcome.row.samples_per_s;
    return out;
  }
  experiment::FaultReport report(const FaultSetting& setting) const {
    return experiment::faults(input, setting, rate(), {}, {});
  }
  experiment::PlanInput input;
};

FaultSetting setting_of(std::vector<FaultPolicy> policies) {
  return {.costs = {Seconds(5 * 3600), Seconds(60), Seconds(300)},
          .spares = 1,
          .repair = Seconds(10 * 3600),
          .policies = std::move(policies)};
}

}  // namespace

TEST_CASE("restart and spare have the goodput of their closed forms") {
  const FaultCase c("2xH100x4");
  const auto report = c.report(setting_of({FaultPolicy::restart, FaultPolicy::spare}));
  CHECK(report.interval == jobs::daly_interval(report.setting.costs));
  for (const auto& row : report.rows) CHECK(row.life->goodput() == near(*row.closed_form, 0.01));
  CHECK(*report.rows[1].closed_form ==
        near(*report.rows[0].closed_form *
             (1 - jobs::waiting_share(Seconds(5 * 3600), 1, Seconds(10 * 3600)))));
}

TEST_CASE("a node takes out the replicas that it holds, and fewer replicas are simulated") {
  const FaultCase c("2xH100x4");
  const auto report = c.report(setting_of({FaultPolicy::spare, FaultPolicy::shrink}));
  CHECK(report.replicas == 8);
  CHECK(report.lost == 2);  // a node of two devices, each a replica
  REQUIRE(report.rows[1].life);
  const auto& life = *report.rows[1].life;
  CHECK_FALSE(report.rows[1].closed_form);
  CHECK(life.shrunk.value() > 0);
  CHECK(life.progress_s < life.computing.value());
  // A job that goes on with fewer replicas waits less, and is ahead of one that waits.
  CHECK(life.waiting < report.rows[0].life->waiting);
  CHECK(life.goodput() > report.rows[0].life->goodput());
}

TEST_CASE("missing inputs are named, before anything is simulated") {
  const FaultCase c("2xH100x4");
  FaultSetting setting = setting_of({FaultPolicy::restart, FaultPolicy::spare, FaultPolicy::shrink});
  setting.spares.reset();
  setting.repair.reset();
  const auto report = c.report(setting);
  CHECK(report.rows[0].life);
  CHECK_FALSE(report.rows[1].life);
  CHECK(report.rows[1].note == "needs --spares, --repair");
  CHECK(report.rows[2].note == "needs --spares, --repair");
}
