#include "penstock/experiment/run.hpp"

#include <doctest/doctest.h>
#include <tbb/global_control.h>

#include <atomic>
#include <filesystem>

#include "penstock/core/files.hpp"
#include "penstock/core/peak_memory.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/experiment/inputs.hpp"
#include "penstock/plan/plan_file.hpp"
#include "support/scratch.hpp"

using namespace penstock;
namespace fs = std::filesystem;

namespace {

experiment::Spec small_spec() {
  experiment::Spec spec;
  spec.name = "small";
  spec.baseline = "spp";
  for (const char* model : {"case_study", "candle_uno"})
    for (const char* planner : {"spp", "graphpipe"}) {
      experiment::Cell cell;
      cell.model.name = model;
      cell.cluster = {PENSTOCK_SOURCE "/experiments/clusters/summit.yaml", 4};
      cell.planner.name = planner;
      cell.training.mini_batch = 32;
      spec.cells.push_back(cell);
    }
  return spec;
}

std::size_t files(const std::string& folder) {
  std::size_t count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    CHECK(entry.path().extension() != ".tmp");
    count += entry.is_regular_file();
  }
  return count;
}

/// Everything but the time the search took.
std::string timeless(std::vector<report::CellResult> rows) {
  for (auto& row : rows) row.search_s.reset(), row.judging_s.reset();
  return report::to_csv(rows);
}

}  // namespace

TEST_CASE("plans without a flush run like all others, and the estimate is their planner's") {
  const support::Scratch scratch("run_pipedream");
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
    CHECK(*row.estimate_s < 1.1 * *row.iteration_s);  // the slowest stage alone: no more than a little above
    CHECK(core::read_file(scratch.path("out/plans/case_study-summit-4-" + row.planner + "-32.yaml"))
              .find("schedule: " + row.planner + "\n") != std::string::npos);
  }
}

TEST_CASE("a run leaves a complete results folder, the same for any number of threads") {
  const support::Scratch scratch("run_test");
  std::string first;
  for (std::size_t threads : {1, 2, 4}) {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
    const std::string folder = scratch.path(std::to_string(threads));
    const auto outcome = experiment::run(small_spec(), {folder, {}, {}}, {});
    REQUIRE(outcome.rows.size() == 4);
    for (const auto& row : outcome.rows) CHECK(row.status == "ok");
    CHECK(files(folder) ==
          3 + 4 * 3);  // results.csv, results.json, table.txt; plan, trace, timeline per cell
    const std::string all = timeless(outcome.rows) +
                            core::read_file(folder + "/plans/case_study-summit-4-graphpipe-32.yaml") +
                            core::read_file(folder + "/traces/candle_uno-summit-4-spp-32.pftrace");
    if (first.empty()) first = all;
    CHECK(all == first);
  }
}

TEST_CASE("a row says how far the planner's estimate and the lower bound are from the simulation") {
  const auto spec = small_spec();
  const auto row = experiment::run_cell(spec, spec.cells[1], cost::AnalyticCosts(), {}).row;
  CHECK(*row.schedule == "1f1b");
  CHECK(*row.states > 0);
  CHECK(*row.optimism == *row.estimate_s / *row.iteration_s);
  CHECK(*row.lower_bound_s > 0);
  CHECK(*row.gap >= 0);
  CHECK(*row.gap == *row.iteration_s / *row.lower_bound_s - 1);
  CHECK_FALSE(row.search_memory_bytes);  // cells run side by side
}

TEST_CASE("buckets let all-reduces overlap, and the bound leaves them out") {
  CHECK(experiment::reduction({}) == score::Reduction::closed_form);
  sim::SimulationOptions options;
  options.bucket = core::Bytes(1);
  CHECK(experiment::reduction(options) == score::Reduction::free);
  options = {};
  options.collective = sim::Collective::ring;
  CHECK(experiment::reduction(options) == score::Reduction::free);
}

TEST_CASE("a search without time is a row that says so, one with time enough is complete") {
  auto spec = small_spec();
  spec.time_limit = core::Seconds(0);
  const auto late = experiment::run_cell(spec, spec.cells[0], cost::AnalyticCosts(), {});
  CHECK(late.row.status == "timed out: the time limit is over, and no plan was found until then");
  CHECK_FALSE(late.plan);
  spec.time_limit = core::Seconds(600);
  CHECK(experiment::run_cell(spec, spec.cells[0], cost::AnalyticCosts(), {}).row.status == "ok");
}

TEST_CASE("a search that runs alone knows its memory, and may have a limit on it") {
  const auto graph = experiment::load_model({"mmt", {}});
  const auto cluster = experiment::load_cluster({PENSTOCK_SOURCE "/experiments/clusters/summit.yaml", 4});
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
  const auto cluster = experiment::load_cluster({PENSTOCK_SOURCE "/experiments/clusters/summit.yaml", 8});
  const cost::AnalyticCosts costs;
  const cost::Problem problem{graph, cluster, costs, {1024, plan::Optimizer::sgd}};
  for (const char* planner : {"spp", "graphpipe"}) {
    std::string plans[2];
    std::atomic<int> calls[2] = {0, 0};
    for (int with_bound : {0, 1}) {
      planners::SearchOptions options;
      const auto simulated = experiment::simulated_time(problem, {});
      options.evaluate = [&](const plan::Plan& plan) {
        ++calls[with_bound];
        const auto time = simulated(plan);
        CHECK(time >= experiment::busiest_compute(problem, plan));
        return time;
      };
      if (with_bound)
        options.at_least = [&](const auto& plan) { return experiment::busiest_compute(problem, plan); };
      plans[with_bound] = plan::to_yaml(graph, planners::planner(planner).plan(problem, options, {}).plan);
    }
    CHECK(plans[0] == plans[1]);
    CHECK(calls[0] == 11);  // powers of two up to 1024
    CHECK(calls[1] < 9);
  }
}

TEST_CASE("no simulated time is below the busiest group's compute, though each device does a part of it") {
  const auto graph = experiment::load_model({"case_study", {{"layers", "1"}}});
  const auto cluster = experiment::load_cluster({PENSTOCK_SOURCE "/experiments/clusters/summit.yaml", 4});
  const cost::AnalyticCosts costs;
  const cost::Problem problem{graph, cluster, costs, {4, plan::Optimizer::sgd}};
  const auto simulated = experiment::simulated_time(problem, {});
  std::atomic<int> divided = 0;
  for (const char* planner : {"megatron", "piper_row"}) {
    planners::SearchOptions options;
    options.evaluate = [&](const plan::Plan& plan) {
      divided += plan.stages.front().tensor_parallel > 1;
      const auto time = simulated(plan);
      CHECK(time >= experiment::busiest_compute(problem, plan));
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

TEST_CASE("an infeasible cell is a row with its reason and costs no other cell") {
  const support::Scratch scratch("run_test");
  auto spec = small_spec();
  spec.cells[0].training.mini_batch = 1;
  spec.cells[0].cluster.devices = 32;  // one sample, 24 units: not enough stages for 32 devices
  const auto outcome = experiment::run(spec, {scratch.path("r"), {}, {}}, {});
  REQUIRE(outcome.rows.size() == 4);
  CHECK(outcome.rows[0].status.starts_with("infeasible: no plan uses exactly 32 devices"));
  CHECK(outcome.rows[1].status == "ok");
  CHECK(core::read_file(scratch.path("r/results.csv")).find("infeasible") != std::string::npos);
}

TEST_CASE("an interrupted run keeps the finished cells, whole files only") {
  const support::Scratch scratch("run_test");
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 1);
  std::atomic<bool> stop{false};
  experiment::RunOptions options{scratch.path("r"), {}, {}};
  options.progress = [&](std::size_t done, std::size_t, const report::CellResult&) { stop = done == 2; };
  const auto outcome = experiment::run(small_spec(), options, core::StopToken(&stop));
  CHECK(outcome.interrupted);
  CHECK(outcome.rows.size() == 2);
  CHECK(files(scratch.path("r")) == 3 + 2 * 3);
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

TEST_CASE("a plan runs in another order, and a family that cannot is a row that says so") {
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

TEST_CASE("a plan for a perfect world runs in the other one; the search is told nothing of it") {
  const support::Scratch scratch("run_world");
  core::write_file(scratch.path("slow.yaml"), "devices:\n  - {device: 0, speed: 0.5}\n");
  auto spec = small_spec();
  const cost::AnalyticCosts costs;
  const auto perfect = experiment::run_cell(spec, spec.cells[0], costs, {});
  spec.cells[0].imperfection = scratch.path("slow.yaml");
  const auto slow = experiment::run_cell(spec, spec.cells[0], costs, {});
  CHECK(slow.row.cluster == "summit~slow");
  CHECK(slow.plan->stages.size() == perfect.plan->stages.size());
  CHECK(*slow.row.iteration_s > *perfect.row.iteration_s);
  CHECK(*slow.row.iteration_s < 2 * *perfect.row.iteration_s);
}

TEST_CASE("claims are judged when all cells have run") {
  const support::Scratch scratch("run_claims");
  auto spec = small_spec();
  report::Claim claim;
  claim.what = "not slower";
  claim.paper.low = 1;
  claim.measure.column = "samples_per_s";
  claim.measure.of = {{"planner", {"graphpipe"}}};
  claim.measure.over = report::Selector{{"planner", {"spp"}}};
  spec.claims = {claim};
  CHECK(experiment::run(spec, {scratch.path("r"), {}, {}}, {}).claims.find("not slower") !=
        std::string::npos);
  CHECK(core::read_file(scratch.path("r/claims.csv")).find("not slower,,at least 1,") != std::string::npos);
}
