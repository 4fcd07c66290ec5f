// Rows that joint begins at besides the answers of other planners.

#include "joint/row_starts.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "models/catalogue.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/validate.hpp"
#include "penstock/sim/simulate.hpp"
#include "support/fixed_costs.hpp"
#include "support/tiny.hpp"

using namespace penstock;

namespace {

const cost::AnalyticCosts kAnalytic;

double simulated(const cost::Problem& problem, const plan::Plan& plan) {
  return to_seconds(sim::simulate_time(problem, score::scheduled(problem, plan))).value();
}

/// A problem, and what it is searched with.
struct RowSearch {
  graph::OpGraph graph;
  cluster::Cluster cluster;
  const cost::CostModel& costs;
  std::int64_t mini_batch;
  cost::Problem problem{graph, cluster, costs, {mini_batch, plan::Optimizer::adam}};
  planners::SearchOptions options{};

  void judge_by_simulation() {
    options.evaluate = [this](const plan::Plan& plan) { return core::Seconds(simulated(problem, plan)); };
  }
  std::vector<planners::JudgedDraft> rows() const {
    const planners::PlanSpace space(problem, options, planners::planning_units(graph));
    return planners::row_starts(space, planners::JointJudge(problem, options), {}, {});
  }
};

/// Equally many operators of the chain in each of two stages per rank, to and fro, whose devices are
/// replicas; nothing where that is no valid plan.
std::optional<plan::Plan> even_zbv(const RowSearch& search, std::size_t ranks, std::int64_t micro_batch) {
  const std::size_t each = search.graph.size() / (2 * ranks), devices = search.cluster.size() / ranks;
  if (each == 0) return {};
  plan::Plan out;
  out.training = search.problem.training;
  out.schedule = "zbv";
  for (std::size_t s = 0; s < 2 * ranks; ++s) {
    plan::Stage& stage = out.stages.emplace_back();
    for (std::size_t i = 0; i < each; ++i) stage.operators.emplace_back(s * each + i);
    const std::size_t rank = s < ranks ? s : 2 * ranks - 1 - s;
    for (std::size_t d = 0; d < devices; ++d) stage.devices.emplace_back(rank * devices + d);
    stage.micro_batch = micro_batch;
  }
  try {
    score::derive_in_flight(search.problem, out);
  } catch (const core::BadInput&) {
    return {};
  }
  if (!score::violations(search.problem, out).empty()) return {};
  return out;
}

/// V100s of so much memory in nodes of `devices`.
cluster::Cluster v100(int nodes, int devices, const char* memory) {
  return cluster::parse_cluster(fmt::format(R"(name: v100
device_types:
  v100: {{memory: {}, memory_bandwidth: 900GB/s, multiprocessors: 80, launch_overhead: 5us, peak: {{fp32: 15.7TFLOP/s}}}}
nodes:
  - {{count: {}, device: v100, devices: {}, link: {{bandwidth: 50GB/s, latency: 0.5us}}, uplink: {{bandwidth: 100Gb/s, latency: 0.5us}}}}
)",
                                            memory, nodes, devices),
                                "v100.yaml");
}

}  // namespace

TEST_CASE("the start of each schedule is the fastest even row, which a slow twin finds too") {
  const auto costs = support::FixedCosts::uniform(16, 1, 2);
  RowSearch search{support::tiny_graph(16, {{0, 1},
                                            {1, 2},
                                            {2, 3},
                                            {3, 4},
                                            {4, 5},
                                            {5, 6},
                                            {6, 7},
                                            {7, 8},
                                            {8, 9},
                                            {9, 10},
                                            {10, 11},
                                            {11, 12},
                                            {12, 13},
                                            {13, 14},
                                            {14, 15}}),
                   support::tiny_cluster(8), costs, 32};
  search.options.max_tensor_parallel = 1;
  search.judge_by_simulation();
  const auto rows = search.rows();
  std::set<std::string> schedules;
  for (const auto& row : rows) {
    CHECK(schedules.insert(row.draft.plan.schedule).second);
    CHECK(score::violations(search.problem, row.draft.plan).empty());
    CHECK(row.worth.iteration.value() == simulated(search.problem, row.draft.plan));
  }
  CHECK(schedules.size() == 6);
  double least = std::numeric_limits<double>::infinity();
  for (const std::size_t ranks : {2, 4, 8})
    for (const std::int64_t micro_batch : {1, 2, 4, 8, 16, 32})
      if (const auto plan = even_zbv(search, ranks, micro_batch);
          plan && micro_batch >= plan->stages.front().replicas())
        least = std::min(least, simulated(search.problem, *plan));
  const auto zbv = std::ranges::find(rows, "zbv", [](const auto& row) { return row.draft.plan.schedule; });
  REQUIRE(zbv != rows.end());
  CHECK(zbv->worth.iteration.value() == least);
}

TEST_CASE("rows share optimizer state where they do not fit else, and no sooner") {
  const auto zeros = [](const char* memory) {
    const RowSearch search{models::build("gpt", {{"layers", "2"},
                                                 {"hidden", "256"},
                                                 {"heads", "4"},
                                                 {"sequence", "512"},
                                                 {"vocabulary", "8192"}}),
                           v100(2, 2, memory), kAnalytic, 32};
    std::set<int> out;
    for (const auto& row : search.rows())
      for (const plan::Stage& stage : row.draft.plan.stages) out.insert(stage.zero);
    return out;
  };
  CHECK(zeros("900MiB") == std::set<int>{0});
  CHECK(zeros("200MiB") == std::set<int>{0, 1});
}

TEST_CASE("joint is no slower than these rows, which are faster than all other planners' answers") {
  RowSearch search{models::build("gpt", {{"layers", "24"}, {"hidden", "2048"}, {"heads", "16"}}),
                   v100(4, 4, "6GiB"), kAnalytic, 128};
  search.judge_by_simulation();
  double best = std::numeric_limits<double>::infinity();
  for (const auto& row : search.rows()) best = std::min(best, row.worth.iteration.value());
  auto options = search.options;
  options.own = {{"evaluations", "1"}, {"starts", "direct"}};
  const auto of_joint = [&](const char* starts) {
    options.own["starts"] = starts;
    return simulated(search.problem, planners::planner("joint").plan(search.problem, options, {}).plan);
  };
  CHECK(best < of_joint("direct"));  // it needs no rows
  CHECK(of_joint("quick") <= best);
}
