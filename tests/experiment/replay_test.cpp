#include "penstock/experiment/replay.hpp"

#include <doctest/doctest.h>

#include "models/layers.hpp"
#include "penstock/core/error.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/experiment/cell.hpp"
#include "replay/cut_model.hpp"
#include "support/crowded_costs.hpp"
#include "support/near.hpp"
#include "support/tiny_cells.hpp"

using namespace penstock;

namespace {

/// A planner's plan for `devices` devices, replayed; simulated by `costs`.
experiment::ReplayOutcome replayed(const char* planner, int devices, experiment::ReplaySetting setting,
                                   const cost::CostModel& costs = cost::AnalyticCosts()) {
  const experiment::Cell cell = support::tiny_cell(planner, devices);
  const auto graph = experiment::load_model(cell.model);
  const auto cluster = experiment::load_cluster(cell.cluster);
  const cost::Problem problem{graph, cluster, costs, cell.training};
  const auto plan = experiment::run_cell({}, cell, cost::AnalyticCosts(), {}).plan;
  REQUIRE(plan);
  return experiment::replay_plan(problem, *plan, {}, setting);
}

experiment::ReplaySetting sequential(int iterations) {
  experiment::ReplaySetting setting;
  setting.manner = replay::ReplayManner::sequential;
  setting.options.iterations = iterations;
  return setting;
}

}  // namespace

TEST_CASE("a replay fills a row, and shows every task that the simulation shows") {
  const auto out = replayed("gpipe_equal", 2, sequential(3));
  CHECK(out.row.manner == "sequential");
  CHECK(out.row.schedule == "gpipe");
  CHECK(out.row.iterations == 3);
  CHECK(out.row.stages == 2);
  CHECK(out.row.measured.low > 0);
  CHECK(out.row.measured.low <= out.row.measured.median);
  CHECK(out.row.measured.median <= out.row.measured.high);
  CHECK(out.row.simulated_s == to_seconds(out.simulated.iteration).value());
  CHECK(out.row.peak.measured > 0);
  CHECK(out.comparison.only_measured == 0);
  CHECK(out.comparison.only_simulated == 0);
  CHECK(out.comparison.tasks.size() == out.simulated.spans.size());
}

TEST_CASE("one device at a time is simulated without neighbours, devices side by side with them") {
  const cost::AnalyticCosts plain;
  const support::CrowdedCosts crowded(plain, {{{{{2}, {2}}}, {{{2}, {2}}}}}, std::vector<double>(1000, 0.5));
  const auto simulated = [](const cost::CostModel& costs, replay::ReplayManner manner) {
    auto setting = sequential(1);
    setting.manner = manner;
    return replayed("data_parallel", 2, setting, costs).row.simulated_s;
  };
  const double alone = simulated(plain, replay::ReplayManner::concurrent);
  CHECK(simulated(crowded, replay::ReplayManner::sequential) == alone);
  CHECK(simulated(crowded, replay::ReplayManner::concurrent) > 1.3 * alone);
}

TEST_CASE("the loss falls, and how the model is cut does not show in it") {
  auto setting = sequential(4);
  setting.training.losses = true;
  setting.training.rule.rate = 1e-3f;
  const auto whole = replayed("single_device", 1, setting).measured.losses;
  REQUIRE(whole.size() == 5);  // one to warm up
  for (std::size_t i = 1; i < whole.size(); ++i) CHECK(whole[i] < whole[i - 1]);
  for (const char* planner : {"gpipe_equal", "data_parallel"}) {
    CAPTURE(planner);
    const auto cut = replayed(planner, 2, setting).measured.losses;
    REQUIRE(cut.size() == whole.size());
    for (std::size_t i = 0; i < cut.size(); ++i) CHECK(cut[i] == support::near(whole[i], 1e-4));
  }
}

TEST_CASE("rows take experts in turn if chosen, for models with experts") {
  models::Layers net("mixture");
  const auto x = net.embedding("table", net.indices("rows", 6), {11, 6});
  net.experts("experts", x, net.softmax("scores", net.linear("router", x, 4)), {.chosen = 1, .inner = 5});
  const auto model = replay::test::cut_model(net.build(), {.rank = {0}});
  auto setting = sequential(1);
  setting.training.losses = true;
  const auto losses = [&] {
    return experiment::replay_plan(model.problem(), model.plan, {}, setting).measured.losses;
  };
  const auto routed = losses();
  setting.experts_in_turn = true;
  CHECK(losses() != routed);
  CHECK_THROWS_WITH_AS(replayed("single_device", 1, setting),
                       "no operator of the model has experts that rows could take in turn", core::BadInput);
}

TEST_CASE("losses are read only on request") {
  CHECK(replayed("single_device", 1, sequential(1)).measured.losses.empty());
}
