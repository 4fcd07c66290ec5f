// Plans that no other beats, on the devices of a small cluster.
#include "penstock/experiment/pareto.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <set>

#include "penstock/cost/analytic.hpp"
#include "penstock/experiment/inputs.hpp"
#include "penstock/plan/plan_file.hpp"
#include "penstock/score/validate.hpp"
#include "support/checkout.hpp"

using namespace penstock;

namespace {

struct ParetoCase {
  explicit ParetoCase(const char* cluster_name, const char* planner = "joint:evaluations=120:starts=quick")
      : cell{{"case_study", {{"layers", "1"}}},
             {support::checkout("/experiments/clusters/") + cluster_name + ".yaml", 4},
             planners::planner_choice(planner),
             {32, plan::Optimizer::adam},
             {}},
        graph(experiment::load_model(cell.model)),
        cluster(experiment::load_cluster(cell.cluster)) {}
  cost::Problem problem() const { return {graph, cluster, costs, cell.training}; }
  experiment::ParetoPlans found() const { return experiment::pareto_search(problem(), cell, {}, {}); }

  experiment::Cell cell;
  graph::OpGraph graph;
  cluster::Cluster cluster;
  cost::AnalyticCosts costs;
};

bool no_worse(const experiment::ParetoPlan& a, const experiment::ParetoPlan& b) {
  const report::CellResult &x = a.outcome.row, &y = b.outcome.row;
  return *x.iteration_s <= *y.iteration_s && *x.peak_memory_bytes <= *y.peak_memory_bytes &&
         x.devices <= y.devices && a.dollars.value_or(0) <= b.dollars.value_or(0);
}

}  // namespace

TEST_CASE("no plan found beats one on the front, one on the front is as good as any other") {
  const ParetoCase c("p3_16xlarge");
  const auto found = c.found();
  CHECK(found.complete);
  // On 1, 2 and 4 devices, and once more where the fastest plan has a colocated stage.
  CHECK(found.plans.size() == 3 * 6 + 1);
  CHECK(found.plans.size() <= experiment::most_pareto_plans(4));
  std::set<std::int64_t> counts;
  for (const auto& plan : found.plans) {
    counts.insert(plan.outcome.row.devices);
    CHECK(plan.outcome.plan->cluster.devices == plan.outcome.row.devices);
    CHECK(plan.dollars.has_value());
    const auto better = [&](const auto& other) {
      return &other != &plan && no_worse(other, plan) && !no_worse(plan, other);
    };
    if (plan.front) CHECK(std::ranges::none_of(found.plans, better));
    CHECK(std::ranges::any_of(found.plans,
                              [&](const auto& other) { return other.front && no_worse(other, plan); }));
  }
  CHECK(counts == std::set<std::int64_t>{1, 2, 4});
  const auto front = std::ranges::count(found.plans, true, &experiment::ParetoPlan::front);
  CHECK(front >= 4);  // more devices are faster, and there is memory to trade for time
  CHECK(std::ranges::is_sorted(found.plans, {}, [](const auto& plan) { return plan.outcome.row.devices; }));
}

TEST_CASE("a front that the user ends is of the plans found until then") {
  const ParetoCase c("p3_16xlarge");
  std::atomic<bool> ended{false};
  std::size_t told = 0;
  const auto found = experiment::pareto_search(c.problem(), c.cell, {}, core::StopToken().until_ended(ended),
                                               [&](const auto&) { ended = ++told == 3; });
  CHECK(found.plans.size() == 3);
  CHECK(found.interrupted);
  CHECK_FALSE(found.complete);
  CHECK_FALSE(c.found().interrupted);
}

TEST_CASE("table and picture are deterministic; money appears only if devices have prices") {
  const ParetoCase c("summit");
  const auto one = c.found(), other = c.found();
  CHECK(experiment::pareto_table(one) == experiment::pareto_table(other));
  CHECK(experiment::pareto_picture(one) == experiment::pareto_picture(other));
  CHECK(experiment::pareto_table(one).find("per million samples") == std::string::npos);
  CHECK(experiment::pareto_table(ParetoCase("p3_16xlarge").found()).find("per million samples") !=
        std::string::npos);
}

TEST_CASE("another planner than joint is refused; without time there is no plan") {
  CHECK_THROWS_AS(ParetoCase("summit", "spp").found(), core::BadInput);
  const ParetoCase c("summit");
  experiment::SearchSetting setting;
  setting.time_limit = core::Seconds(0);
  CHECK_THROWS_AS(experiment::pareto_search(c.problem(), c.cell, setting, {}), core::LimitHit);
}
