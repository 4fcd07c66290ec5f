// How many devices a training run needs: sums by hand, and searches over node counts.
#include "penstock/experiment/sizing.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "experiment/node_search.hpp"
#include "penstock/cluster/power.hpp"
#include "penstock/core/error.hpp"
#include "penstock/cost/curve_costs.hpp"
#include "penstock/cost/training_state.hpp"
#include "penstock/experiment/inputs.hpp"
#include "support/near.hpp"

using namespace penstock;
using experiment::SizingGoal;
using experiment::SizingMachine;
using support::near;

namespace {

plan::Training mixed_training() {
  plan::Training out;
  out.mini_batch = 64;
  out.optimizer = plan::Optimizer::adam;
  out.precision = plan::mixed_precision("mixed_bf16");
  return out;
}

/// A small language model on sixteen H100.
struct SizingCase {
  explicit SizingCase(const std::string& cluster_name = "8xH100x2")
      : cell{{"llama", {{"layers", "4"}, {"attention", "flash"}}},
             {cluster_name, 0},
             planners::planner_choice("megatron:units=layers"),
             mixed_training(),
             {}},
        graph(experiment::load_model(experiment::in_numbers_of(cell.training, cell.model))),
        cluster(experiment::load_cluster(cell.cluster)) {}
  cost::Problem problem() const { return {graph, cluster, costs, cell.training}; }
  experiment::SizingProblem sizing(const std::string& gpus) const {
    return {gpus, graph, costs, cell,
            [](std::int64_t devices) { return std::max<std::int64_t>(devices, 64); }};
  }

  experiment::Cell cell;
  graph::OpGraph graph;
  cluster::Cluster cluster;
  cost::CurveCosts costs;
};

experiment::CellOutcome outcome_of(double tokens_per_s) {
  experiment::CellOutcome out;
  out.row.tokens_per_s = tokens_per_s;
  return out;
}

experiment::SearchSetting quiet() {
  experiment::SearchSetting out;
  out.keep_trace = false;
  return out;
}

}  // namespace

TEST_CASE("days, failures, dollars and energy of a run, by hand") {
  // 16 devices with 40,000 tokens/s take 864,000,000 tokens in a quarter of a day. A failure per 1,600 device-hours is one in 100
  // hours; a checkpoint of 72 s: sqrt(2 x 72 x 360,000) = 7,200 s of work to first order.
  SizingMachine machine;
  machine.mtbf_hours = 1600;
  machine.checkpoint = core::Seconds(72);
  machine.restart = core::Seconds(0);
  machine.margin = 0.1;
  machine.node_overhead = 0.5;
  machine.prices = {{"h100", 2.5}};
  const SizingCase c;
  const auto found = experiment::sized_cluster(c.problem(), outcome_of(40'000), {.tokens = 864e6}, machine);
  CHECK(found.devices == 16);
  CHECK(found.nodes == 2);
  CHECK(found.failures.mtbf.value() == near(360'000));
  CHECK(found.interval.value() == near(7200, 0.01));
  CHECK(found.goodput == near(jobs::goodput(found.failures, found.interval)));
  CHECK(found.goodput == near(1 - 72 / 7200.0 - 7200 / 2 / 360'000.0, 0.001));
  CHECK(found.days * found.goodput == near(0.25));
  CHECK(found.restarts == near(found.days * 24 / 100));
  CHECK(*found.dollars == near(16 * 2.5 * found.days * 24));
  CHECK(*found.megawatt_hours == near(16 * 700e-6 * 1.5 * found.days * 24));
  CHECK(found.least_days() == near(found.days * 0.9));
  CHECK(found.most_days() == near(found.days * 1.1));
  CHECK(found.meets({.tokens = 864e6, .days = found.days * 1.11}));
  CHECK_FALSE(found.meets({.tokens = 864e6, .days = found.days * 1.09}));
  CHECK_FALSE(found.meets({.tokens = 864e6, .dollars = *found.dollars * 1.09}));
  CHECK(found.meets({.tokens = 864e6, .dollars = *found.dollars * 1.11}));
}

TEST_CASE("a checkpoint holds weights and optimizer state, and all nodes write it") {
  // bf16 weights, and fp32 weights, momentum and variance: 2 + 12 bytes per parameter, on two nodes of 1 GB/s.
  const SizingCase c;
  const double bytes = 14.0 * static_cast<double>(c.graph.parameters());
  CHECK(static_cast<double>(cost::checkpoint_bytes(c.problem()).value()) == near(bytes));
  SizingMachine machine;
  machine.storage = core::Bandwidth(1e9);
  const auto found = experiment::sized_cluster(c.problem(), outcome_of(1), {.tokens = 1}, machine);
  CHECK(found.failures.checkpoint.value() == near(bytes / 2e9));
}

TEST_CASE("the margin is the error of measured runs; without any the largest of all types") {
  const SizingCase h100, mi300x("8xMI300X");
  const auto margin = [](const SizingCase& c) {
    const auto found = experiment::sized_cluster(c.problem(), outcome_of(1), {.tokens = 1}, {});
    return std::pair(found.margin, found.measured);
  };
  CHECK(margin(h100) == std::pair(cost::prediction_error("h100")->mean, true));
  REQUIRE_FALSE(cost::prediction_error("mi300x"));
  CHECK(margin(mi300x) == std::pair(cost::largest_prediction_error(), false));
  CHECK(cost::largest_prediction_error() >= cost::prediction_error("h100")->mean);
}

TEST_CASE("devices without price or power have no cost and no energy, and meet no budget") {
  const SizingCase b200("8xB200"), tpu("4xTPU-v5p");
  const auto found = experiment::sized_cluster(b200.problem(), outcome_of(1), {.tokens = 1}, {});
  CHECK_FALSE(found.dollars);
  CHECK(found.megawatt_hours);
  CHECK_FALSE(found.meets({.tokens = 1, .dollars = 1e18}));
  CHECK_FALSE(experiment::sized_cluster(tpu.problem(), outcome_of(1), {.tokens = 1}, {}).megawatt_hours);
  CHECK(cluster::data_sheet_power("H100")->watts == 700);
  CHECK_FALSE(cluster::data_sheet_power("tpu_v5p"));
}

TEST_CASE("a job that fails before any checkpoint never ends") {
  SizingMachine machine;
  machine.mtbf_hours = 1e-3;
  machine.restart = core::Seconds(1e6);
  const SizingCase c;
  const auto found = experiment::sized_cluster(c.problem(), outcome_of(1e6), {.tokens = 1}, machine);
  CHECK(std::isinf(found.days));
  CHECK_FALSE(found.meets({.tokens = 1}));
}

TEST_CASE("the fewest nodes are found wherever the search begins, among counts of four significant bits") {
  for (const int least : {1, 2, 5, 8, 9, 30, 144, 176, 1000, 2048})
    for (const int first : {1, 7, 100, 5000}) {
      std::set<int> tried;
      const auto found = experiment::least_nodes(first, 2048, [&](int nodes) {
        tried.insert(nodes);
        return nodes >= least;
      });
      CAPTURE(least);
      CAPTURE(first);
      REQUIRE(found);
      CHECK(*found >= least);
      CHECK(*found <= least * 9 / 8 + 1);
      CHECK(tried.size() <= 26);
      const auto fewer = experiment::next_lower_count(*found);
      CHECK((!fewer || *fewer < least));
    }
  CHECK_FALSE(experiment::least_nodes(3, 64, [](int) { return false; }));
  CHECK(experiment::least_nodes(14, 15, [](int nodes) { return nodes >= 14; }) ==
        14);  // 15 is known to be enough
  CHECK(experiment::next_lower_count(16) == 15);
  CHECK(experiment::next_lower_count(72) == 64);
  CHECK_FALSE(experiment::next_lower_count(1));
}

TEST_CASE("a batch of fewer samples than devices becomes one that their replicas can share") {
  CHECK(experiment::shared_samples(512, 4096) == 512);
  CHECK(experiment::shared_samples(512, 3072) == 576);  // 3 x 192; 384 and 768 are more than an eighth off
  CHECK(experiment::shared_samples(512, 2560) == 480);  // 3 x 160
  CHECK(experiment::shared_samples(500, 1024) == 512);
  CHECK(experiment::shared_samples(512, 512) == 512);
  CHECK(experiment::shared_samples(40, 8 * 13) == 39);
  CHECK(experiment::shared_samples(40, 8 * 29) == 40);
  for (std::int64_t samples = 64; samples < 700; samples += 7)
    for (const std::int64_t devices : {720, 1024, 1536, 2816, 8192})
      CHECK(std::abs(experiment::shared_samples(samples, devices) - samples) * 8 <= samples);
}

TEST_CASE("the smallest cluster meets the goal, and one with an eighth fewer nodes does not") {
  const SizingCase c;
  const experiment::SizingPlanners planners{c.cell.planner, c.cell.planner};
  const SizingGoal goal{.tokens = 2e12, .days = 20};
  const auto answer = experiment::size_clusters(c.sizing("H100"), goal, {}, planners, quiet(), {});
  CHECK(answer.complete);
  REQUIRE(answer.smallest);
  REQUIRE(answer.cheapest);
  const auto& smallest = answer.tried[*answer.smallest];
  CHECK(smallest.meets(goal));
  CHECK(smallest.outcome.plan->cluster.devices == smallest.devices);
  for (std::size_t at = 0; at < *answer.smallest; ++at) CHECK_FALSE(answer.tried[at].meets(goal));
  for (const auto& other : answer.tried)
    if (other.meets(goal)) CHECK(*other.dollars >= *answer.tried[*answer.cheapest].dollars);
  CHECK(answer.costs.find("expected error") != std::string::npos);
}

TEST_CASE("an exact cluster is the answer, with the faster of two plans; an impossible goal is named") {
  const SizingCase c;
  const experiment::SizingPlanners planners{planners::planner_choice("data_parallel"), c.cell.planner};
  const auto answer =
      experiment::size_cluster(c.sizing("8xH100x2"), {.tokens = 1e9}, {}, planners, quiet(), {});
  REQUIRE(answer.tried.size() == 1);
  CHECK(answer.smallest == 0);
  const auto late =
      experiment::size_cluster(c.sizing("8xH100x2"), {.tokens = 1e15, .days = 1}, {}, planners, quiet(), {});
  CHECK_FALSE(late.smallest);
  CHECK(late.note.find("no cluster that was tried meets the goal; 8xH100x2 is the fastest") == 0);
  // A time limit that is over leaves no answer, and is no reason to state that there is none.
  const auto stopped = experiment::size_cluster(c.sizing("8xH100x2"), {.tokens = 1e9}, {}, planners, quiet(),
                                                core::StopToken().within(core::Seconds(0)));
  CHECK_FALSE(stopped.complete);
}

TEST_CASE("a report has every cluster that was tried, as text, CSV, JSON and picture") {
  const SizingCase c;
  const experiment::SizingPlanners planners{c.cell.planner, c.cell.planner};
  experiment::SizingReport report{{.tokens = 2e12, .days = 20}, "llama", {}, {}};
  report.answers.push_back(
      experiment::size_clusters(c.sizing("H100"), report.goal, {}, planners, quiet(), {}));
  report.assumptions = experiment::sizing_assumptions({}, report.answers, {"restart"});
  const std::string text = experiment::sizing_table(report);
  CHECK(text.find("llama, 2T tokens, at most 20 days") == 0);
  CHECK(text.find("assumed: a failure per 50677 device-hours (--mtbf-per-gpu)") != std::string::npos);
  CHECK(text.find("given: restarts of 10.0 min") != std::string::npos);
  const auto json = nlohmann::json::parse(experiment::sizing_json(report, {}));
  const auto& tried = json.at("answers").at(0).at("tried");
  CHECK(tried.size() == report.answers.front().tried.size());
  CHECK(json.at("answers").at(0).at("smallest") ==
        report.answers.front().tried[*report.answers.front().smallest].cluster);
  const std::string csv = experiment::sizing_csv(report);
  CHECK(std::count(csv.begin(), csv.end(), '\n') == static_cast<std::ptrdiff_t>(tried.size()) + 1);
  CHECK(experiment::sizing_svg(report).find("H100: ") != std::string::npos);
}
