// Features that a planner does not see, according to the catalogue, are in none of its plans.

#include <doctest/doctest.h>

#include <algorithm>

#include "models/catalogue.hpp"
#include "penstock/core/error.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/planners/planner.hpp"
#include "support/checkout.hpp"

using namespace penstock;

namespace {

bool any_stage(const plan::Plan& plan, bool (*has)(const plan::Stage&)) {
  return std::ranges::any_of(plan.stages, has);
}

/// Words of the catalogue, and whether a plan has what they are about.
struct PlanFeature {
  const char* words;
  bool (*in)(const plan::Plan&);
};

const PlanFeature kFeatures[] = {
    {"tensor parallelism",
     [](const plan::Plan& p) {
       return any_stage(p, [](const plan::Stage& s) { return s.tensor_parallel > 1; });
     }},
    {"ZeRO",
     [](const plan::Plan& p) { return any_stage(p, [](const plan::Stage& s) { return s.zero > 0; }); }},
    {"recomputation",
     [](const plan::Plan& p) {
       return any_stage(p, [](const plan::Stage& s) { return bool(s.recompute); });
     }},
    {"replicas",
     [](const plan::Plan& p) { return any_stage(p, [](const plan::Stage& s) { return s.replicas() > 1; }); }},
    {"all parallelism",
     [](const plan::Plan& p) { return p.stages.size() > 1 || p.stages[0].devices.size() > 1; }},
    {"pipelines", [](const plan::Plan& p) { return p.stages.size() > 1; }},
    {"stages of unlike width",
     [](const plan::Plan& p) {
       return std::ranges::any_of(
           p.stages, [&](const plan::Stage& s) { return s.devices.size() != p.stages[0].devices.size(); });
     }},
    {"schedules except 1F1B", [](const plan::Plan& p) { return p.schedule != "1f1b"; }},
    {"schedules except plain and interleaved 1F1B",
     [](const plan::Plan& p) { return p.schedule != "1f1b" && p.schedule != "interleaved_1f1b"; }},
    {"schedules except fill-drain", [](const plan::Plan& p) { return p.schedule != "gpipe"; }},
    {"schedules except list ordering", [](const plan::Plan& p) { return p.schedule != "list_order"; }},
    {"schedules with a flush", [](const plan::Plan& p) { return !plan::asynchronous(p); }},
    {"schedules without a flush", [](const plan::Plan& p) { return plan::asynchronous(p); }},
};

/// How many of the words were put to the test.
int check_plan(const planners::PlannerInfo& planner, const plan::Plan& plan) {
  int checked = 0;
  for (const PlanFeature& feature : kFeatures)
    if (planner.unseen.find(feature.words) != std::string::npos) {
      CAPTURE(feature.words);
      CHECK_FALSE(feature.in(plan));
      ++checked;
    }
  return checked;
}

}  // namespace

TEST_CASE("no plan has what its planner does not see, with much memory or hardly enough" *
          doctest::test_suite("oracle")) {
  const auto summit = cluster::load_cluster(support::checkout("/experiments/clusters/summit.yaml"));
  const cost::AnalyticCosts costs;
  std::map<std::string, int> checked;
  for (const int layers : {2, 24})
    for (const int devices : {1, 4}) {
      const auto graph = models::build(
          "gpt",
          {{"layers", std::to_string(layers)}, {"hidden", "2048"}, {"heads", "16"}, {"sequence", "512"}});
      const auto cluster = summit.first(devices);
      const cost::Problem problem{graph, cluster, costs, {32, plan::Optimizer::adam}};
      for (const planners::PlannerInfo& planner : planners::catalogue()) {
        CAPTURE(planner.name);
        planners::SearchOptions options;
        if (planner.name == "joint") options.own = {{"evaluations", "50"}, {"starts", "quick"}};
        try {
          checked[planner.name] += check_plan(planner, planner.plan(problem, options, {}).plan);
        } catch (const core::Error& e) {
          CHECK((e.code() == core::ExitCode::infeasible || e.code() == core::ExitCode::limit));
        }
      }
    }
  for (const planners::PlannerInfo& planner : planners::catalogue()) {
    CAPTURE(planner.name);
    CHECK_FALSE(planner.unseen.empty());
    if (planner.name != "exhaustive") CHECK(checked[planner.name] > 0);  // gpt has too many operators for it
  }
}
