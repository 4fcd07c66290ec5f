// plan --top: next best plans of other kinds.

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "experiment/kept_plans.hpp"
#include "experiment/top_report.hpp"
#include "models/catalogue.hpp"
#include "penstock/core/thread_limit.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/experiment/cell.hpp"
#include "penstock/experiment/inputs.hpp"
#include "penstock/plan/plan_file.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/validate.hpp"
#include "penstock/sim/simulate.hpp"
#include "support/random_plan.hpp"

using namespace penstock;

namespace {

struct TopCase {
  graph::OpGraph graph = models::build("gpt", {{"layers", "6"}, {"hidden", "768"}});
  cluster::Cluster cluster = experiment::load_cluster({"4xA100-40x2", 8, ""});
  cost::AnalyticCosts costs;
  cost::Problem problem() const { return {graph, cluster, costs, {32, plan::Optimizer::adam}}; }

  experiment::CellOutcome searched(const char* planner, std::size_t top, int threads) const {
    const core::ThreadLimit limit(threads);
    const cost::Problem asked = problem();
    experiment::SearchSetting setting;
    setting.keep_trace = false;
    setting.top = top;
    planners::PlannerChoice choice{planner};
    if (choice.name == "joint") choice.options["evaluations"] = "300";
    return experiment::search(asked, {{"gpt"}, {"4xA100-40x2", 8}, choice, asked.training, {}}, setting, {});
  }
};

std::string text(const TopCase& c, const experiment::CellOutcome& outcome) {
  std::string out = plan::to_yaml(c.graph, *outcome.plan);
  for (const auto& other : outcome.others) out += plan::to_yaml(c.graph, *other.plan);
  return out + experiment::top_json(outcome).dump();
}

}  // namespace

TEST_CASE("the next best plans are of other kinds, valid, ranked, and the same for any number of threads") {
  const TopCase c;
  for (const std::string planner : {"joint", "megatron", "dapple", "graphpipe"}) {
    INFO(planner);
    const auto outcome = c.searched(planner.c_str(), 5, 1);
    CHECK(plan::to_yaml(c.graph, *outcome.plan) ==
          plan::to_yaml(c.graph, *c.searched(planner.c_str(), 1, 2).plan));
    CHECK(outcome.others.size() <= 4);
    CHECK(outcome.others.size() >= (planner == "joint" ? 3 : 1));
    std::set<std::string> kinds = {""};  // nothing differs
    double before = 0;
    for (const auto& other : outcome.others) {
      CHECK(score::violations(c.problem(), *other.plan).empty());
      CHECK_FALSE(plan::asynchronous(*other.plan));
      CHECK(kinds.insert(experiment::differences(*outcome.plan, *other.plan)).second);
      CHECK(*other.row.iteration_s >= before);
      CHECK(*other.row.iteration_s <= 1.5 * *outcome.row.iteration_s);
      before = *other.row.iteration_s;
    }
    CHECK(text(c, outcome) == text(c, c.searched(planner.c_str(), 5, 2)));
    CHECK(text(c, outcome) == text(c, c.searched(planner.c_str(), 5, 4)));
  }
}

TEST_CASE("the fastest valid plan of each kind is kept, for plans in any order") {
  const auto random = support::random_plan(0);  // 1F1B
  const cost::Problem problem = random.problem();
  for (const std::string& violation : score::violations(problem, random.plan)) FAIL_CHECK(violation);
  plan::Plan best = random.plan, other = random.plan;
  experiment::reschedule(other, "gpipe");
  score::derive_in_flight(problem, other);
  plan::Plan slower = other, broken = other;
  for (plan::Stage& stage : slower.stages) stage.recompute = plan::kRecomputeStage;
  broken.stages.front().micro_batch = broken.training.mini_batch + 1;
  plan::Plan tuned = best;  // in one of its stages
  tuned.stages.back().recompute = plan::kRecomputeStage;
  REQUIRE(tuned.stages.size() > 2);
  REQUIRE(score::violations(problem, tuned).empty());
  for (const bool backwards : {false, true}) {
    experiment::KeptPlans kept(problem);
    std::vector<std::pair<const plan::Plan*, double>> seen = {{&broken, 1.0}, {&slower, 5.0}, {&best, 4.0},
                                                              {&tuned, 4.2},  {&other, 4.5},  {&other, 7.0}};
    if (backwards) std::ranges::reverse(seen);
    for (const auto& [plan, time] : seen) kept.see(*plan, core::Seconds(time));
    const auto others = kept.others(best, 5);
    REQUIRE(others.size() == 2);
    CHECK(plan::to_yaml(problem.graph, others[0]) == plan::to_yaml(problem.graph, other));
    CHECK(plan::to_yaml(problem.graph, others[1]) == plan::to_yaml(problem.graph, slower));
    CHECK(kept.others(best, 1).size() == 1);
    CHECK(experiment::differences(best, others[0]) == "schedule 1f1b to gpipe");
    experiment::KeptPlans runnable(problem, [](const plan::Plan& plan, const plan::Plan*) {
      auto out = plan;
      out.schedule = "1f1b";
      return std::optional(out);
    });
    for (const auto& [plan, time] : seen) runnable.see(*plan, core::Seconds(time));
    for (const auto& each : runnable.others(best, 5)) CHECK(each.schedule == "1f1b");
    CHECK(runnable.others(best, 5).size() < 2);
    CHECK(experiment::differences(best, others[1]) == "schedule 1f1b to gpipe, recompute none to stages");
  }
}
