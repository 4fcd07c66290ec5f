// Memory runs out while a plan is searched, simulated, and reported.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/experiment/cell.hpp"
#include "penstock/plan/plan_file.hpp"
#include "penstock/planners/planner.hpp"
#include "penstock/report/comparison.hpp"
#include "penstock/report/paper_table.hpp"
#include "penstock/report/perfetto.hpp"
#include "penstock/report/timeline_svg.hpp"
#include "penstock/score/order.hpp"
#include "penstock/sim/explain.hpp"
#include "penstock/sim/simulate.hpp"
#include "refusals.hpp"
#include "support/scratch.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using faults::refuse_each;

namespace {

/// A problem of four operators on two devices.
struct TinyProblem {
  graph::OpGraph graph = support::tiny_graph(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}});
  cluster::Cluster cluster = support::tiny_cluster(2);
  cost::AnalyticCosts costs;
  cost::Problem problem{graph, cluster, costs, {4, plan::Optimizer::sgd}};

  experiment::CellOutcome planned() const {
    experiment::Cell cell;
    cell.model.name = "tiny";
    cell.cluster = {"tiny", 2};
    cell.planner.name = "graphpipe";
    cell.training = problem.training;
    return experiment::search(problem, cell, {}, {});
  }
};

}  // namespace

TEST_CASE("each planner") {
  const TinyProblem tiny;
  for (const auto& planner : planners::catalogue()) {
    CAPTURE(planner.name);
    refuse_each(
        [&]() -> std::string {
          try {
            return plan::to_yaml(tiny.graph, planner.plan(tiny.problem, {}, {}).plan);
          } catch (const core::Infeasible& e) {
            return e.what();
          }
        },
        12);
  }
}

TEST_CASE("the loop of all threads passes it on") {
  refuse_each([] {
    std::vector<std::string> parts(64);
    core::parallel_for(parts.size(), [&](std::size_t i) { parts[i] = fmt::format("{:64}", i); });
    return fmt::format("{}", fmt::join(parts, " "));
  });
}

TEST_CASE("a whole cell, its simulation and what slows it down") {
  const TinyProblem tiny;
  refuse_each([&] { return report::to_csv(std::vector{tiny.planned().row}, {.measured = false}); }, 15);
  const auto found = tiny.planned();
  const auto order = score::order_of(tiny.problem, *found.plan);
  for (const auto collective : {sim::collective("closed_form"), sim::collective("ring")})
    refuse_each([&] {
      return report::to_svg(sim::simulate(tiny.problem, {tiny.problem.graph, *found.plan, order},
                                          {sim::NetworkModel::fair, collective}));
    });
  refuse_each([&] {
    const auto why = sim::explain(tiny.problem, {tiny.problem.graph, *found.plan, order}, {});
    return fmt::format("{} {}", why.path.size(), why.shares.size());
  });
}

TEST_CASE("tables and timelines") {
  const auto found = TinyProblem().planned();
  const std::vector<report::CellResult> rows(3, found.row);
  refuse_each([&] { return report::comparison(rows, "graphpipe", true); });
  refuse_each([&] { return report::to_markdown(rows) + report::to_latex(rows); });
  refuse_each([&] { return report::to_svg(*found.trace); });
  const support::ScratchFolder scratch("planning_violations");
  refuse_each([&] {
    report::write_perfetto(scratch.path("t.pftrace"), *found.trace, nullptr);
    return std::string("written");
  });
  CHECK(std::distance(std::filesystem::directory_iterator(scratch.path("")), {}) == 1);
}
