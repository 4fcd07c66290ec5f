// Inputs of a cell's search, and the contents of its row.
#include <doctest/doctest.h>
#include <tbb/global_control.h>

#include <atomic>
#include <map>
#include <string>

#include "penstock/core/files.hpp"
#include "penstock/core/peak_memory.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/experiment/inputs.hpp"
#include "penstock/experiment/run.hpp"
#include "penstock/plan/plan_file.hpp"
#include "penstock/score/least_iteration.hpp"
#include "support/checkout.hpp"
#include "support/scratch.hpp"
#include "support/small_spec.hpp"

using namespace penstock;
using support::small_spec;

TEST_CASE("plans without a flush run like all others, and the estimate is their planner's") {
  const support::ScratchFolder scratch("run_pipedream");
  experiment::Spec spec = small_spec();
  spec.cells.resize(2);
  spec.baseline.clear();
  spec.cells[0].planner.name = "pipedream";
  spec.cells[1].planner.name = "pipedream_2bw";
  const auto outcome = experiment::run(spec, {scratch.path("out"), {}, {}}, {});
  REQUIRE(outcome.rows.size() == 2);
  for (const auto& row : outcome.rows) {
    CAPTURE(row.planner);
    CHECK(row.status == "ok");
    // The slowest stage by itself: no more than a little above.
    CHECK(*row.estimate_s < 1.1 * *row.iteration_s);
    CHECK(core::read_file(scratch.path("out/plans/case_study-summit-4-" + row.planner + "-32.yaml"))
              .find("schedule: " + row.planner + "\n") != std::string::npos);
  }
}

TEST_CASE("a row has the distances of the planner's estimate and the lower bound from the simulation") {
  auto spec = small_spec();
  spec.cells[1].planner.options = {{"max_replicas", "1"}};  // a pipeline
  const auto row = experiment::run_cell(spec, spec.cells[1], cost::AnalyticCosts(), {}).row;
  CHECK(*row.schedule == "1f1b");
  CHECK(*row.states > 0);
  CHECK(*row.estimate_error == *row.estimate_s / *row.iteration_s - 1);
  CHECK(*row.strategy == "PP" + std::to_string(*row.pipeline_parallel) +
                             (*row.depth < *row.stages ? " (depth " + std::to_string(*row.depth) + ")" : "") +
                             (row.data_parallel->most > 1 ? " x DP" + plan::text(*row.data_parallel) : "") +
                             ", 1F1B, mb " + plan::text(*row.micro_batch));
  CHECK(*row.tflops_per_device > 0);
  CHECK(*row.mfu > 0);
  CHECK(*row.mfu < 1);
  CHECK(*row.lower_bound_s > 0);
  CHECK(*row.gap >= 0);
  CHECK(*row.gap == *row.iteration_s / *row.lower_bound_s - 1);
  CHECK_FALSE(row.search_memory_bytes);  // cells run side by side
}

TEST_CASE("messages may travel while passes run, and the bound leaves all-reduces out") {
  CHECK(experiment::reduction({}) == score::ReductionTiming::closed_form);
  sim::SimulationOptions options;
  options.collective = sim::collective("ring");
  CHECK(experiment::reduction(options) == score::ReductionTiming::free);
}

TEST_CASE("a search without time is a row that reports it, one with time enough is complete") {
  auto spec = small_spec();
  spec.time_limit = core::Seconds(0);
  const auto late = experiment::run_cell(spec, spec.cells[0], cost::AnalyticCosts(), {});
  CHECK(late.row.status == "timed out: the time limit is over, and no plan was found until then");
  CHECK_FALSE(late.plan);
  CHECK(late.row.search_s.has_value());
  CHECK(late.row.judging_s.has_value());
  spec.time_limit = core::Seconds(600);
  CHECK(experiment::run_cell(spec, spec.cells[0], cost::AnalyticCosts(), {}).row.status == "ok");
}

TEST_CASE("cells that fail have a search time: no room, another order without room, a wrong option") {
  const auto graph = experiment::load_model({"mmt", {}});
  const auto cluster = experiment::load_cluster({support::checkout("/experiments/clusters/summit.yaml"), 4});
  const cost::AnalyticCosts costs;
  const cost::Problem huge{graph, cluster, costs, {1 << 20, plan::Optimizer::adam}};
  experiment::Cell cell{{"mmt", {}}, {"summit.yaml", 4}, {"single_device"}, huge.training, {}};
  const auto infeasible = experiment::try_search(huge, cell, {}, {}).row;
  CHECK(infeasible.status.starts_with("infeasible: "));
  CHECK(infeasible.search_s.has_value());
  CHECK_FALSE(infeasible.states.has_value());
  const cost::Problem small{graph, cluster, costs, {8, plan::Optimizer::sgd}};
  cell = {{"mmt", {}}, {"summit.yaml", 4}, {"data_parallel"}, small.training, {}};
  cell.schedule = "zbv";  // wants two stages on each of its ranks
  const auto unordered = experiment::try_search(small, cell, {}, {}).row;
  CHECK(unordered.status.starts_with("infeasible: "));
  CHECK(unordered.search_s.has_value());
  CHECK(unordered.states.has_value());
  auto spec = small_spec();
  spec.cells[0].search.k = 0;
  const auto wrong = experiment::try_cell(spec, spec.cells[0], costs, {}).row;
  CHECK(wrong.status.starts_with("bad input: "));
  CHECK(wrong.search_s.has_value());
}

TEST_CASE("a search without others beside it measures its memory, and may have a limit on it") {
  const auto graph = experiment::load_model({"mmt", {}});
  const auto cluster = experiment::load_cluster({support::checkout("/experiments/clusters/summit.yaml"), 4});
  const cost::AnalyticCosts costs;
  const cost::Problem problem{graph, cluster, costs, {64, plan::Optimizer::sgd}};
  const experiment::Cell cell{{"mmt", {}}, {"summit.yaml", 4}, {"spp"}, problem.training, {}};
  experiment::SearchSetting setting;
  setting.alone = true;
  setting.memory_limit = core::Bytes(std::int64_t{4} << 30);
  const auto row = experiment::try_search(problem, cell, setting, {}).row;
  CHECK(row.status == "ok");
  if (!core::resident_memory()) return;
  CHECK(*row.search_memory_bytes < std::int64_t{1} << 30);
  setting.memory_limit = core::Bytes(0);
  CHECK(experiment::try_search(problem, cell, setting, {}).row.status ==
        "memory full: the memory limit is reached, and no plan was found until then");
}

TEST_CASE("a planner's options are the file's, and part of its name in rows, plans and files") {
  auto spec = small_spec();
  spec.cells[0].planner = planners::planner_choice("piper_row:recompute=always");
  const auto outcome = experiment::run_cell(spec, spec.cells[0], cost::AnalyticCosts(), {});
  CHECK(outcome.row.planner == "piper_row:recompute=always");
  CHECK(outcome.plan->planner == "piper_row:recompute=always");
  CHECK(outcome.plan->stages.front().recompute);
  CHECK(experiment::cell_name(spec.cells[0]).find("-piper_row_recompute_always-") != std::string::npos);
}

TEST_CASE("a plan whose busiest device computes too long is not simulated, and would not have been chosen") {
  const auto graph = experiment::load_model({"dlrm", {}});
  const auto cluster = experiment::load_cluster({support::checkout("/experiments/clusters/summit.yaml"), 8});
  const cost::AnalyticCosts costs;
  const cost::Problem problem{graph, cluster, costs, {1024, plan::Optimizer::sgd}};
  for (const char* planner : {"spp", "graphpipe"}) {
    std::string plans[2];
    std::atomic<int> calls[2] = {0, 0};
    for (int with_bound : {0, 1}) {
      planners::SearchOptions options;
      options.own = {{"choose_by", "paper"}};  // one plan per size
      const auto simulated = experiment::simulated_time(problem, {});
      options.evaluate = [&](const plan::Plan& plan) {
        ++calls[with_bound];
        const auto time = simulated(plan);
        CHECK(time >= score::least_iteration(problem, plan, score::ReductionTiming::closed_form));
        return time;
      };
      if (with_bound)
        options.at_least = [&](const auto& plan) {
          return score::least_iteration(problem, plan, score::ReductionTiming::closed_form);
        };
      plans[with_bound] = plan::to_yaml(graph, planners::planner(planner).plan(problem, options, {}).plan);
    }
    CHECK(plans[0] == plans[1]);
    CHECK(calls[0] == 11);  // powers of two up to 1024
    CHECK(calls[1] < 9);
  }
}

TEST_CASE("simulations that end once a plan is too slow change no plan") {
  std::map<std::string, int> spared;
  const auto cluster = experiment::load_cluster({support::checkout("/experiments/clusters/summit.yaml"), 8});
  const cost::AnalyticCosts costs;
  for (const char* model : {"dlrm", "mmt"}) {
    const auto graph = experiment::load_model({model, {}});
    const cost::Problem problem{graph, cluster, costs, {256, plan::Optimizer::sgd}};
    for (const char* planner : {"aceso", "graphpipe", "graphpipe_climb", "megatron", "piper_row", "dapple",
                                "alpa_inter", "spp_luo"}) {
      CAPTURE(planner);
      planners::SearchOptions options;
      std::atomic<int> evaluated = 0;
      const auto simulated = experiment::simulated_time(problem, {});
      options.evaluate = [&](const plan::Plan& plan) {
        ++evaluated;
        return simulated(plan);
      };
      const auto whole = planners::planner(planner).plan(problem, options, {}).plan;
      const int all = evaluated.exchange(0);
      std::atomic<int> shortened = 0;
      const auto against = experiment::simulated_time_against(problem, {});
      options.evaluate_against = [&](const plan::Plan& plan, core::Seconds to_beat) {
        ++evaluated;
        const auto told = against(plan, to_beat);
        shortened += told > to_beat;
        return told;
      };
      options.at_least = [&](const auto& plan) {
        return score::least_iteration(problem, plan, score::ReductionTiming::closed_form);
      };
      CHECK(plan::to_yaml(graph, planners::planner(planner).plan(problem, options, {}).plan) ==
            plan::to_yaml(graph, whole));
      CHECK(evaluated <= all);
      spared[planner] += all - evaluated + shortened;
    }
  }
  for (const auto& [planner, simulations] : spared) {
    CAPTURE(planner);
    CHECK(simulations > 0);
  }
}

TEST_CASE("no simulated time is below the busiest group's compute, though each device does a part of it") {
  const auto graph = experiment::load_model({"case_study", {{"layers", "1"}}});
  const auto cluster = experiment::load_cluster({support::checkout("/experiments/clusters/summit.yaml"), 4});
  const cost::AnalyticCosts costs;
  const cost::Problem problem{graph, cluster, costs, {4, plan::Optimizer::sgd}};
  const auto simulated = experiment::simulated_time(problem, {});
  std::atomic<int> divided = 0;
  for (const char* planner : {"megatron", "piper_row"}) {
    planners::SearchOptions options;
    options.evaluate = [&](const plan::Plan& plan) {
      divided += plan.stages.front().tensor_parallel > 1;
      const auto time = simulated(plan);
      CHECK(time >= score::least_iteration(problem, plan, score::ReductionTiming::closed_form));
      return time;
    };
    planners::planner(planner).plan(problem, options, {});
  }
  CHECK(divided > 4);
}

TEST_CASE("simulating candidates is part of the search's time, and none when the estimate decides") {
  auto spec = small_spec();
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 1);
  const auto row = experiment::run_cell(spec, spec.cells[0], cost::AnalyticCosts(), {}).row;
  CHECK(*row.judging_s > 0);
  CHECK(*row.judging_s < *row.search_s);
  spec.choose_by_simulation = false;
  CHECK(*experiment::run_cell(spec, spec.cells[0], cost::AnalyticCosts(), {}).row.judging_s == 0);
}

TEST_CASE("simulated time as the judge never chooses a slower plan") {
  auto spec = small_spec();
  const auto costs = std::make_shared<cost::AnalyticCosts>();
  for (const auto& cell : spec.cells) {
    spec.choose_by_simulation = false;
    const auto estimated = experiment::run_cell(spec, cell, *costs, {});
    spec.choose_by_simulation = true;
    const auto simulated = experiment::run_cell(spec, cell, *costs, {});
    CHECK(*simulated.row.iteration_s <= *estimated.row.iteration_s);
  }
}

TEST_CASE("a plan runs in another order, and an unsupported family is a row with the reason") {
  auto spec = small_spec();
  experiment::Cell cell = spec.cells[0];
  cell.planner.name = "gpipe_equal";
  const cost::AnalyticCosts costs;
  const auto own = experiment::run_cell(spec, cell, costs, {});
  CHECK(*own.row.schedule == "gpipe");
  cell.schedule = "1f1b";
  const auto other = experiment::run_cell(spec, cell, costs, {});
  CHECK(other.plan->schedule == "1f1b");
  CHECK(*other.row.peak_memory_bytes <= *own.row.peak_memory_bytes);
  cell.schedule = "zbv";  // two stages per rank, the plan has one
  CHECK(experiment::run_cell(spec, cell, costs, {}).row.status.starts_with("infeasible: "));
}

TEST_CASE("the search does not depend on the perturbation under which its plan runs") {
  const support::ScratchFolder scratch("run_perturbed");
  core::write_file(scratch.path("slow.yaml"), "devices:\n  - {device: 0, speed: 0.5}\n");
  auto spec = small_spec();
  const cost::AnalyticCosts costs;
  const auto perfect = experiment::run_cell(spec, spec.cells[0], costs, {});
  spec.cells[0].perturbation = scratch.path("slow.yaml");
  const auto slow = experiment::run_cell(spec, spec.cells[0], costs, {});
  CHECK(slow.row.cluster == "summit~slow");
  CHECK(slow.plan->stages.size() == perfect.plan->stages.size());
  CHECK(*slow.row.iteration_s > *perfect.row.iteration_s);
  CHECK(*slow.row.iteration_s < 2 * *perfect.row.iteration_s);
}

TEST_CASE("a search that the user ends after its last plan gives this plan, without a lower bound") {
  const auto spec = small_spec();
  const experiment::Cell& cell = spec.cells[1];
  const graph::OpGraph& graph = spec.inputs->model(cell.model);
  const cluster::Cluster& cluster = spec.inputs->cluster(cell.cluster);
  const cost::AnalyticCosts costs;
  const cost::Problem problem{graph, cluster, costs, cell.training};
  static std::atomic<bool> ended;  // as a planner ends, which lives as long as the program
  planners::PlannerInfo info{"ends_then", "", "", "", {}};
  info.plan = [](const cost::Problem& of, const planners::SearchOptions& options, core::StopToken stop) {
    auto found = planners::planner("spp").plan(of, options, stop);
    ended = true;
    return found;
  };
  planners::add_planner(info);
  experiment::Cell asked = cell;
  asked.planner = {"ends_then"};
  experiment::SearchSetting setting;
  setting.time_limit = core::Seconds(3600);  // is none of the bound
  std::string told;
  setting.options.progress = [&told](const std::string& text) { told = text; };
  const auto waited = experiment::search(problem, asked, setting, {});
  CHECK(waited.row.status == "ok");
  REQUIRE(waited.row.lower_bound_s);
  CHECK(told.starts_with("found "));
  CHECK(told.ends_with(" samples/s (" + *waited.row.strategy + "), computing what no plan beats"));
  ended = false;
  const auto found = experiment::search(problem, asked, setting, core::StopToken().until_ended(ended));
  CHECK(found.row.status == "interrupted: the search was over, its lower bound is left out");
  CHECK(experiment::interrupted(found.row));
  CHECK_FALSE(found.row.lower_bound_s);
  CHECK_FALSE(found.row.gap);
  REQUIRE(found.plan);
  CHECK(plan::to_yaml(graph, *found.plan) == plan::to_yaml(graph, *waited.plan));
  CHECK(*found.row.iteration_s == *waited.row.iteration_s);
}

TEST_CASE("only the user ends a bound, no limit on time") {
  std::atomic<bool> flag = false, ended = false;
  const auto check =
      experiment::until_user_stops(core::StopToken(&flag).within(core::Seconds(0)).until_ended(ended));
  CHECK_NOTHROW(check());
  ended = true;
  CHECK_THROWS_AS(check(), core::SearchEnded);
  flag = true;
  CHECK_THROWS_AS(check(), core::InterruptedError);
}
