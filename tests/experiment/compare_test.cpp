// Planners ranked by other ends than time.
#include "penstock/experiment/compare.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <atomic>
#include <map>
#include <nlohmann/json.hpp>

#include "penstock/cost/analytic.hpp"
#include "penstock/experiment/inputs.hpp"
#include "penstock/sim/perturbation.hpp"
#include "support/checkout.hpp"
#include "support/near.hpp"

using namespace penstock;
using experiment::PlannerComparison;
using experiment::SearchAim;

namespace {

/// Planners on a small model, on four devices of a committed cluster.
struct CompareCase {
  explicit CompareCase(const char* cluster_name)
      : cell{{"case_study", {{"layers", "1"}}},
             {support::checkout("/experiments/clusters/") + cluster_name + ".yaml", 4},
             {"spp"},
             {32, plan::Optimizer::adam},
             {}},
        graph(experiment::load_model(cell.model)),
        cluster(experiment::load_cluster(cell.cluster)) {}

  cost::Problem problem() const { return {graph, cluster, costs, cell.training}; }
  PlannerComparison compared(const experiment::AimSetting& aim,
                             const std::string& planners = kPlanners) const {
    experiment::SearchSetting setting;
    setting.keep_trace = false;
    return experiment::compare(problem(), cell, experiment::planner_choices(planners, "planners"), setting,
                               {}, {}, aim);
  }
  /// The value that one planner reaches by itself.
  double reached(const experiment::AimSetting& aim, const std::string& planner) const {
    experiment::Cell own = cell;
    own.planner = planners::planner_choice(planner);
    return experiment::search_for(aim, problem(), own, {}, {}).reached.value;
  }

  static constexpr const char* kPlanners =
      "gpipe_equal,spp,exhaustive:operators=1,joint:evaluations=200:starts=direct";

  experiment::Cell cell;
  graph::OpGraph graph;
  cluster::Cluster cluster;
  cost::AnalyticCosts costs;
};

/// The rows with a value, which come first, by rising value.
void check_ranked(const PlannerComparison& found, std::size_t with_plan) {
  REQUIRE(found.rows.size() == 4);
  REQUIRE(found.reached.size() == 4);
  for (std::size_t r = 0; r < 4; ++r) {
    CHECK(found.reached[r].has_value() == (r < with_plan));
    CHECK(found.rows[r].iteration_s.has_value() == (r < with_plan));
    if (r > 0 && r < with_plan) CHECK(found.reached[r - 1]->value <= found.reached[r]->value);
  }
}

void check_values(const CompareCase& problem, const experiment::AimSetting& aim,
                  const PlannerComparison& found) {
  for (std::size_t r = 0; r < found.rows.size(); ++r)
    if (found.reached[r]) CHECK(found.reached[r]->value == problem.reached(aim, found.rows[r].planner));
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("p95: every planner searches for it, and is ranked by its result") {
  const CompareCase problem("summit");
  const auto day = std::make_shared<const sim::Perturbation>(
      sim::load_perturbation(support::checkout("/experiments/imperfect/bad_day.yaml"), problem.cluster));
  const experiment::AimSetting aim{SearchAim::p95, experiment::PerturbedSeeds{day, 3, 5}};
  const PlannerComparison found = problem.compared(aim);
  check_ranked(found, 3);  // one operator is too few for exhaustive
  check_values(problem, aim, found);
  CHECK(found.rows.front().planner.starts_with("joint"));
  CHECK(has(found.heading, "ranked by p95: 95 % of iterations take at most so long; 5 seeds from 3 on: "));
}

TEST_CASE("cost: every planner may leave devices unused, and rows have the number of devices") {
  const CompareCase problem("p3_16xlarge");
  const PlannerComparison found = problem.compared({SearchAim::cost});
  check_ranked(found, 3);
  check_values(problem, {SearchAim::cost}, found);
  CHECK(found.rows.front().devices < 4);
  CHECK(has(experiment::comparison_table(found), " per million on "));
}

TEST_CASE(
    "memory: joint searches for it, others have the memory of their fastest plan, too slow ones come last") {
  const CompareCase problem("summit");
  const experiment::AimSetting aim{SearchAim::memory, {}, 0.05};
  const PlannerComparison found = problem.compared(aim);
  double fastest = 1e9;
  for (const auto& row : found.rows) fastest = std::min(fastest, row.iteration_s.value_or(fastest));
  bool slow_ones = false;
  for (std::size_t r = 0; r < found.rows.size(); ++r) {
    if (!found.reached[r]) continue;
    CHECK(found.reached[r]->value == static_cast<double>(*found.rows[r].peak_memory_bytes));
    const bool slow = experiment::too_slow(found.rows[r], *found.reached[r]);
    CHECK(slow == (*found.rows[r].iteration_s > found.reached[r]->most_s));
    CHECK(found.reached[r]->most_s <= fastest * 1.05 * (1 + 1e-12));
    CHECK(slow >= slow_ones);
    slow_ones = slow;
  }
  CHECK(slow_ones);
  CHECK(found.rows.front().planner.starts_with("joint"));
  CHECK(found.reached.front()->value == problem.reached(aim, found.rows.front().planner));
}

TEST_CASE(
    "memory: a plan without a flush sets no limit to those with one, and the only limit where none has") {
  const CompareCase problem("summit");
  const experiment::AimSetting aim{SearchAim::memory, {}, 0.05};
  const auto times = [](const PlannerComparison& found) {
    std::map<std::string, double> out;
    for (const auto& row : found.rows) out[row.planner] = row.iteration_s.value();
    return out;
  };
  const PlannerComparison both = problem.compared(aim, "gpipe_equal,pipedream");
  REQUIRE(times(both).at("pipedream") * 1.05 < times(both).at("gpipe_equal"));
  for (const auto& reached : both.reached)
    CHECK(reached->most_s == support::near(times(both).at("gpipe_equal") * 1.05));
  CHECK(has(both.heading, "the fastest found with a flush ("));
  CHECK(has(both.bounds, "no plan with a flush takes less than "));
  const PlannerComparison alone = problem.compared(aim, "pipedream");
  CHECK(alone.reached.front()->most_s == support::near(times(alone).at("pipedream") * 1.05));
  CHECK(has(alone.heading, "the fastest found ("));
}

TEST_CASE("table, CSV, JSON and chart have the aim; for time none of them names it") {
  const CompareCase problem("p3_16xlarge");
  const PlannerComparison by_cost = problem.compared({SearchAim::cost}), by_time = problem.compared({});
  CHECK(has(experiment::comparison_table(by_cost), "aim: cost"));
  const std::string csv = experiment::comparison_csv(by_cost);
  CHECK(has(csv, ",status,aim,aim_value\n"));
  CHECK(has(csv, fmt::format(",ok,cost,{}\n", by_cost.reached.front()->value)));
  CHECK(csv.ends_with(",cost,\n"));  // of the one without a plan
  const auto rows = nlohmann::json::parse(experiment::comparison_json(by_cost, {}))["results"];
  CHECK(rows[0]["aim"]["name"] == "cost");
  CHECK(rows[0]["aim"]["value"] == by_cost.reached.front()->value);
  CHECK(rows[3]["aim"].is_null());
  CHECK(has(experiment::comparison_svg(by_cost), "ranked by dollars per million samples"));

  CHECK(by_time.reached.empty());
  CHECK_FALSE(has(experiment::comparison_table(by_time), "aim"));
  CHECK(experiment::comparison_csv(by_time) == report::to_csv(by_time.rows));
  CHECK(experiment::comparison_json(by_time, {}) == report::to_json(by_time.rows, {}));
  CHECK(has(experiment::comparison_svg(by_time), "simulated time of an iteration"));
}

TEST_CASE("planners that found the same plan share a row on a screen, and no row elsewhere") {
  const CompareCase problem("summit");
  const PlannerComparison found = problem.compared({}, "data_parallel,gpipe_equal,spp,graphpipe");
  const auto same = [&](const std::string& a, const std::string& b) {
    return found.plans.at(a).schedule == found.plans.at(b).schedule &&
           found.plans.at(a).stages == found.plans.at(b).stages;
  };
  REQUIRE(same("spp", "data_parallel"));
  REQUIRE_FALSE(same("spp", "gpipe_equal"));
  auto stale = found;
  stale.plans.begin()->second.schedule = "pipedream_2bw";
  CHECK(has(experiment::comparison_table(stale, {0, "", 7}),
            "without a flush, so passes use older weights: " + stale.plans.begin()->first + "\n"));
  CHECK_FALSE(has(experiment::comparison_table(found, {0, "", 7}), "older weights"));
  const std::string screen = experiment::comparison_table(found, {0, "", 7}),
                    file = experiment::comparison_table(found);
  CHECK(file.find(", spp") == std::string::npos);
  for (const auto& row : found.rows) CHECK(file.find("\n" + row.planner + " ") != std::string::npos);
  const auto line = screen.find("\ndata_parallel, spp");
  REQUIRE(line != std::string::npos);
  CHECK(screen.find("\nspp ") == std::string::npos);
  CHECK(screen.find("\ngpipe_equal ") != std::string::npos);
}

TEST_CASE("an aim that no planner can have is refused before any search") {
  const CompareCase problem("summit");  // without prices
  CHECK_THROWS_AS(problem.compared({SearchAim::cost}), core::BadInput);
  CHECK_THROWS_AS(problem.compared({SearchAim::p95}), core::BadInput);
}

TEST_CASE("an interrupted comparison does not wait for bounds") {
  const CompareCase one("p3_16xlarge");
  std::atomic<bool> stopped = false;
  experiment::CompareProgress progress;
  progress.ends = [&](const report::CellResult&, std::size_t, std::size_t) { stopped = true; };
  const auto found =
      experiment::compare(one.problem(), one.cell, experiment::planner_choices("spp,gpipe_equal", "planners"),
                          {}, core::StopToken(&stopped), progress);
  CHECK(found.interrupted);
  REQUIRE(found.rows.size() == 1);
  CHECK(found.rows.front().planner == "spp");
  CHECK(found.bounds == "");
  CHECK(found.heading.starts_with("case_study layers=1, 4 devices of p3_16xlarge"));
  CHECK(experiment::exit_code(found) == core::ExitCode::interrupted);
}
