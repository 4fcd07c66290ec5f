// Searches among the plans that a training framework can run.
#include <doctest/doctest.h>

#include <map>

#include "models/catalogue.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/files.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/experiment/compare.hpp"
#include "penstock/experiment/inputs.hpp"
#include "penstock/experiment/snapshot.hpp"
#include "penstock/experiment/spec.hpp"
#include "penstock/frameworks/framework.hpp"
#include "penstock/score/validate.hpp"
#include "support/checkout.hpp"
#include "support/scratch.hpp"

using namespace penstock;

namespace {

/// A small Llama on two nodes of four GPUs.
struct SmallLlama {
  SmallLlama()
      : cell{{"llama",
              {{"layers", "6"},
               {"hidden", "512"},
               {"heads", "8"},
               {"kv_heads", "4"},
               {"feed_forward", "1024"},
               {"vocabulary", "4096"},
               {"sequence", "512"},
               {"attention", "flash"}}},
             {"4xA100-40x2", 8},
             {"joint", {{"evaluations", "300"}}},
             {32, plan::Optimizer::adam},
             {}},
        graph(experiment::load_model(cell.model)),
        cluster(experiment::load_cluster(cell.cluster)) {}

  cost::Problem problem() const { return {graph, cluster, costs, cell.training}; }
  experiment::SearchSetting setting(const std::string& framework) const {
    experiment::SearchSetting out;
    out.keep_trace = false;
    out.runnable_by = framework;
    return out;
  }
  std::vector<std::string> refusals(const std::string& framework, plan::Plan plan) const {
    return frameworks::refusals(frameworks::framework_named(framework), graph, plan, false);
  }

  experiment::Cell cell;
  graph::OpGraph graph;
  cluster::Cluster cluster;
  cost::AnalyticCosts costs;
};

}  // namespace

TEST_CASE("every framework can run the plans of its space, whichever planner searches") {
  const SmallLlama one;
  for (const std::string& framework : frameworks::framework_names()) {
    CAPTURE(framework);
    const auto found = experiment::compare(
        one.problem(), one.cell,
        experiment::planner_choices("joint:evaluations=300,megatron,spp,graphpipe", "planners"),
        one.setting(framework), {});
    CHECK_FALSE(found.plans.empty());
    for (const auto& [planner, plan] : found.plans) {
      CAPTURE(planner);
      CHECK(one.refusals(framework, plan).empty());
      CHECK(score::violations(one.problem(), plan).empty());
    }
    REQUIRE(found.rows.front().iteration_s);
    for (const auto& row : found.rows)
      if (row.iteration_s && row.planner.starts_with("joint"))
        CHECK(*row.iteration_s == *found.rows.front().iteration_s);
  }
}

TEST_CASE("the plan of another planner becomes the nearest one, with the time of that one") {
  SmallLlama one;
  one.cell.planner = {"gpipe_equal"};
  const auto free = experiment::search(one.problem(), one.cell, one.setting(""), {}),
             limited = experiment::search(one.problem(), one.cell, one.setting("megatron"), {});
  REQUIRE_FALSE(one.refusals("megatron", *free.plan).empty());
  CHECK(limited.row.planner == "gpipe_equal");
  CHECK(*limited.row.iteration_s == experiment::simulated_time(one.problem(), {})(*limited.plan).value());
}

TEST_CASE("joint keeps to what the framework has, and takes options of its own over that") {
  SmallLlama one;
  const auto zero = [&](const planners::OwnOptions& options) {
    one.cell.planner = {"joint", options};
    const auto found = experiment::search(one.problem(), one.cell, one.setting("megatron"), {});
    int most = 0;
    for (const auto& stage : found.plan->stages) most = std::max(most, stage.zero);
    return most;
  };
  CHECK(zero({{"evaluations", "200"}}) <= 1);
  CHECK(zero({{"evaluations", "200"}, {"max_zero", "0"}}) == 0);
}

TEST_CASE("an experiment's framework is an axis, and limits its plans") {
  const support::ScratchFolder scratch("framework_space_test");
  core::write_file(
      scratch.path("e.yaml"),
      "experiment: e\ncosts: data_sheet\nfor: [any, megatron]\nplanners: [gpipe_equal]\n"
      "clusters: [{file: " +
          support::checkout("/experiments/clusters/summit.yaml") +
          ", devices: [8]}]\n"
          "models: [{name: llama, parameters: {layers: 6, hidden: 512, heads: 8, kv_heads: 4, feed_forward: 1024, "
          "vocabulary: 4096, sequence: 512}, mini_batch: [32]}]\n");
  const auto spec = experiment::load_spec(scratch.path("e.yaml"));
  REQUIRE(spec.cells.size() == 2);
  CHECK(spec.cells[0].runnable_by == "");
  CHECK(spec.cells[1].runnable_by == "megatron");
  CHECK(spec.cells[1].cluster.runtime == "");  // data sheets have no host times
  CHECK(experiment::cell_name(spec.cells[1]) != experiment::cell_name(spec.cells[0]));
  const cost::AnalyticCosts costs;
  const auto refused = [&](const experiment::Cell& cell) {
    const auto found = experiment::run_cell(spec, cell, costs, {});
    REQUIRE(found.plan);
    return !frameworks::refusals(frameworks::framework_named("megatron"), spec.inputs->model(cell.model),
                                 *found.plan, false)
                .empty();
  };
  CHECK(refused(spec.cells[0]));
  CHECK_FALSE(refused(spec.cells[1]));
}

TEST_CASE(
    "a framework runs the cluster of its plans, unless the user, the file or the costs state the hosts") {
  const cluster::Cluster silent = experiment::load_cluster({"4xA100-40x2", 8}),
                         stated = silent.run_by(cluster::runtime("30us/kernel"));
  const auto runtime = [](const std::string& given, const std::optional<std::string>& costs,
                          const cluster::Cluster& file) {
    return experiment::runtime_for("torchtitan", {"c", 8, given}, costs, file);
  };
  CHECK(runtime("", {}, silent) == "torchtitan");
  CHECK(runtime("none", {}, silent) == "none");
  CHECK(runtime("", {}, stated) == "");
  CHECK(runtime("", "host.yaml", silent) == "");
}

TEST_CASE("a framework that cannot train the model, or is unknown, is refused before the search") {
  SmallLlama one;
  CHECK_THROWS_WITH_AS(experiment::search(one.problem(), one.cell, one.setting("megatrn"), {}),
                       "unknown framework 'megatrn'; did you mean 'megatron'?", core::BadInput);
  one.cell.model = {"mmt", {{"layers", "1"}}};
  one.graph = experiment::load_model(one.cell.model);
  CHECK_THROWS_AS(experiment::search(one.problem(), one.cell, one.setting("megatron"), {}), core::BadInput);
}
