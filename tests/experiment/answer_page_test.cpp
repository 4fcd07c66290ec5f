#include "penstock/experiment/answer_page.hpp"

#include <doctest/doctest.h>

#include "penstock/cost/analytic.hpp"
#include "penstock/experiment/inputs.hpp"
#include "support/checkout.hpp"

using namespace penstock;

namespace {

struct PageCase {
  experiment::Cell cell{{"case_study", {{"layers", "1"}}},
                        {support::checkout("/experiments/clusters/p3_16xlarge.yaml"), 4},
                        {"spp"},
                        {32, plan::Optimizer::adam},
                        {}};
  graph::OpGraph graph = experiment::load_model(cell.model);
  cluster::Cluster cluster = experiment::load_cluster(cell.cluster);
  cost::AnalyticCosts costs;
  cost::Problem problem() const { return {graph, cluster, costs, cell.training}; }
};

}  // namespace

TEST_CASE("a plan's page has its row, its drawings and what it is about") {
  const PageCase one;
  const auto problem = one.problem();
  const experiment::AimedPlan found = experiment::search_for({}, problem, one.cell, {}, {});
  const report::Page page = experiment::plan_page(problem, found, {}, {.version = "9"});
  REQUIRE(page.results.rows.size() == 1);
  CHECK(page.results.provenance.version == "9");
  CHECK(!page.cells.at(0).data.empty());
  CHECK(page.cells.at(0).note.empty());  // it takes the time of the row
  CHECK(page.title.find("case_study layers=1 on 4 devices") != std::string::npos);
  CHECK(report::is_page(report::to_html(page)));
}

TEST_CASE("a plan's page lists its assumptions, and has the next best plans as rows") {
  const PageCase one;
  const auto problem = one.problem();
  experiment::SearchSetting setting;
  setting.top = 3;
  const experiment::AimedPlan found = experiment::search_for({}, problem, one.cell, setting, {});
  REQUIRE(found.outcome.others.size() >= 1);
  const report::Page page =
      experiment::plan_page(problem, found, {}, {.version = "9"}, "assumed: fp32 (--precision)");
  CHECK(page.summary == "Assumed: fp32 (--precision).");
  experiment::AimedPlan by_curves = found;
  by_curves.outcome.row.costs = "H100 kernel tables; expected error 15 %";
  CHECK(experiment::plan_page(problem, by_curves, {}, {.version = "9"}).summary ==
        "Costs: H100 kernel tables; expected error 15 %.");
  REQUIRE(page.results.rows.size() == 1 + found.outcome.others.size());
  CHECK(page.results.rows.front().planner == "spp");
  CHECK(page.results.rows[1].planner == "spp, next best 1");
  for (std::size_t r = 0; r < page.cells.size(); ++r) {
    CHECK(!page.cells[r].data.empty());
    CHECK(page.cells[r].note.empty());
    CHECK(*page.results.rows[r].iteration_s >= *page.results.rows[0].iteration_s);
  }
  CHECK(page.winner.starts_with(*found.outcome.row.strategy + ": "));
  CHECK(report::to_html(page).find(*found.outcome.row.strategy) != std::string::npos);
}

TEST_CASE("pages warn of rows that break a limit, the next best plans' too") {
  const PageCase one;
  const auto problem = one.problem();
  experiment::SearchSetting setting;
  setting.top = 2;
  experiment::AimedPlan found = experiment::search_for({}, problem, one.cell, setting, {});
  REQUIRE(found.outcome.others.size() == 1);
  const auto page = [&] { return experiment::plan_page(problem, found, {}, {.version = "9"}); };
  CHECK(page().warnings.empty());
  found.outcome.others[0].row.mfu = 2;
  REQUIRE(page().warnings.size() == 1);
  CHECK(page().warnings[0].starts_with(*found.outcome.others[0].row.strategy + ": MFU 200.0 %"));
  CHECK(report::to_html(page()).find(page().warnings[0]) != std::string::npos);
  experiment::PlannerComparison comparison;
  comparison.rows = {found.outcome.others[0].row};
  CHECK(experiment::comparison_page(problem, comparison, {}, {.version = "9"}).warnings.size() == 1);
}

TEST_CASE("a comparison's page draws every plan, those for cost on the devices that they use") {
  const PageCase one;
  const auto problem = one.problem();
  for (const auto aim : {experiment::SearchAim::time, experiment::SearchAim::cost}) {
    auto found = experiment::compare(problem, one.cell,
                                     experiment::planner_choices("spp,gpipe_equal,single_device", "planners"),
                                     {}, {}, {}, {.aim = aim});
    found.assumptions = experiment::assumptions(problem, one.cell.model, {});
    const report::Page page = experiment::comparison_page(problem, found, {}, {.version = "9"});
    CHECK(page.summary.find(" Assumed: fp32 (--precision), adam (--optimizer), ") != std::string::npos);
    REQUIRE(page.cells.size() == found.rows.size());
    for (std::size_t r = 0; r < page.cells.size(); ++r) {
      CHECK(page.cells[r].data.empty() == !found.rows[r].iteration_s);
      CHECK(page.cells[r].note.empty());
    }
    CHECK(page.winner.starts_with(found.rows.front().planner + " is first by cost: $") ==
          (aim == experiment::SearchAim::cost));
    CHECK(page.summary.find("No plan with a flush takes less than ") != std::string::npos);
  }
}

TEST_CASE("only what Penstock wrote is a page") {
  CHECK_FALSE(report::is_page("<!doctype html><html><head></head><body>notes</body></html>"));
  CHECK_FALSE(report::is_page("<!doctype html><body><meta name=\"generator\" content=\"Penstock\"></body>"));
  CHECK_FALSE(report::is_page(""));
}
