// One meaning of a pinned micro-batch with every planner: what a replica takes at a time.

#include <doctest/doctest.h>

#include "models/catalogue.hpp"
#include "penstock/core/error.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/plan/stage_graph.hpp"
#include "penstock/plan/strategy.hpp"
#include "penstock/planners/planner.hpp"
#include "penstock/score/validate.hpp"
#include "support/checkout.hpp"

using namespace penstock;

namespace {

struct StudyCase {
  graph::OpGraph model;
  cluster::Cluster cluster;
  cost::AnalyticCosts costs;
  explicit StudyCase(int devices, const char* layers = "2")
      : model(models::build("case_study", {{"layers", layers}})),
        cluster(
            cluster::load_cluster(support::checkout("/experiments/clusters/summit.yaml")).first(devices)) {}
  cost::Problem problem() const { return {model, cluster, costs, {64, plan::Optimizer::sgd}}; }
};

std::optional<plan::Plan> planned(const planners::PlannerInfo& planner, const cost::Problem& problem,
                                  const planners::SearchOptions& options) {
  try {
    const auto found = planner.plan(problem, options, {});
    const auto violations = score::violations(problem, found.plan);
    CHECK_MESSAGE(violations.empty(), (violations.empty() ? "" : violations.front()));
    return found.plan;
  } catch (const core::Infeasible&) {
    return std::nullopt;
  }
}

plan::ValueRange micro_batch(const plan::Plan& plan) {
  return plan::strategy(plan, 1).micro_batch;
}

}  // namespace

TEST_CASE(
    "every planner: pinned to 4 samples, each replica of each stage takes 4 at a time, none splits "
    "unevenly") {
  const StudyCase eight(8), four(4, "1"), one(1);
  for (const planners::PlannerInfo& planner : planners::catalogue()) {
    CAPTURE(planner.name);
    const StudyCase& on = planner.name == "single_device" ? one : planner.name == "exhaustive" ? four : eight;
    const cost::Problem problem = on.problem();
    planners::SearchOptions options;
    options.micro_batch = 4;
    const auto plan = planned(planner, problem, options);
    REQUIRE(plan.has_value());
    CHECK(micro_batch(*plan) == plan::ValueRange{4, 4});
    for (const plan::Stage& stage : plan->stages)
      if (!plan::asynchronous(*plan)) CHECK(stage.micro_batch == 4 * stage.replicas());
  }
}

TEST_CASE(
    "a pin that only replicas make possible is met by as many, and one that does not divide is refused") {
  const StudyCase eight(8);
  const cost::Problem problem = eight.problem();  // 64 samples
  for (const planners::PlannerInfo& planner : planners::catalogue()) {
    CAPTURE(planner.name);
    planners::SearchOptions options;
    options.micro_batch = 5;
    CHECK_THROWS_AS(planner.plan(problem, options, {}), core::Error);
    options.micro_batch = 16;  // 8 replicas would take 128
    if (planner.name == "single_device" || planner.name == "exhaustive") continue;
    if (const auto plan = planned(planner, problem, options))
      CHECK(micro_batch(*plan) == plan::ValueRange{16, 16});
  }
}

TEST_CASE("with sizes per stage, stages of a pinned micro-batch may have unlike replicas") {
  // Three devices: without, one stage of three, whose 12 samples do not divide 64, or three stages.
  const StudyCase three(3, "1");
  const cost::Problem problem = three.problem();
  planners::SearchOptions options;
  options.micro_batch = 4;
  options.per_stage_micro_batch = true;
  for (const char* name : {"graphpipe", "spp", "exhaustive"}) {
    CAPTURE(name);
    const auto plan = planned(planners::planner(name), problem, options);
    REQUIRE(plan.has_value());
    CHECK(micro_batch(*plan) == plan::ValueRange{4, 4});
  }
}

TEST_CASE(
    "a micro-batch of the pipeline is split over replicas, and refused where replicas take whole ones") {
  const StudyCase eight(8);
  const cost::Problem problem = eight.problem();
  for (const planners::PlannerInfo& planner : planners::catalogue()) {
    CAPTURE(planner.name);
    if (planner.name == "single_device" || planner.name == "exhaustive") continue;
    planners::SearchOptions options;
    options.pipeline_micro_batch = 16;
    const bool whole = planner.name.starts_with("pipedream") || planner.name.starts_with("piper");
    if (whole) {
      CHECK_THROWS_AS(planner.plan(problem, options, {}), core::BadInput);
      continue;
    }
    const auto plan = planned(planner, problem, options);
    REQUIRE(plan.has_value());
    for (const plan::Stage& stage : plan->stages) CHECK(stage.micro_batch == 16);
    options.micro_batch = 4;
    CHECK_THROWS_AS(planner.plan(problem, options, {}), core::BadInput);
  }
}
