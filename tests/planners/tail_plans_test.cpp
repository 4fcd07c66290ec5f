// Branches with their own devices, and operators after them on all these devices.

#include "joint/tail_plans.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "joint/joined_branches.hpp"
#include "models/catalogue.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/random.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/plan/colocated.hpp"
#include "penstock/plan/stage_graph.hpp"
#include "penstock/schedule/in_flight.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/validate.hpp"
#include "penstock/sim/simulate.hpp"
#include "support/near.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using core::OpId;

namespace {

const cost::AnalyticCosts kAnalytic;
constexpr planners::PlanScore kAny{};

double simulated(const cost::Problem& problem, const plan::Plan& plan) {
  return to_seconds(sim::simulate_time(problem, score::scheduled(problem, plan))).value();
}

struct TailSearch {
  graph::OpGraph graph;
  cluster::Cluster cluster;
  std::int64_t mini_batch;
  cost::Problem problem{graph, cluster, kAnalytic, {mini_batch, plan::Optimizer::adam}};
  planners::SearchOptions options{};

  TailSearch(graph::OpGraph g, cluster::Cluster c, std::int64_t samples)
      : graph(std::move(g)), cluster(std::move(c)), mini_batch(samples) {
    options.evaluate = [this](const plan::Plan& plan) { return core::Seconds(simulated(problem, plan)); };
  }
  TailSearch(const TailSearch&) = delete;

  planners::TailPlan tail(const planners::PlanScore& to_beat = kAny) const {
    const planners::PlanSpace space(problem, options, planners::planning_units(graph));
    return planners::tail_plan(space, planners::JointJudge(problem, options), to_beat, {});
  }
};

/// A100s on the links that are given.
cluster::Cluster a100(int nodes, int devices, const char* uplink) {
  return cluster::parse_cluster(fmt::format(R"(name: a100
device_types:
  a100: {{memory: 40GiB, memory_bandwidth: 1555GB/s, multiprocessors: 108, launch_overhead: 4us, peak: {{fp32: 19.5TFLOP/s}}}}
nodes:
  - {{count: {}, device: a100, devices: {}, link: {{bandwidth: 300GB/s, latency: 0.5us}}, uplink: {{bandwidth: {}, latency: 1us}}}}
)",
                                            nodes, devices, uplink),
                                "a100.yaml");
}

graph::OpGraph small_dlrm(int branches, int width) {
  return models::build("dlrm", {{"branches", std::to_string(branches)},
                                {"table_rows", "1000"},
                                {"bag_size", "4"},
                                {"tower_input", "256"},
                                {"tower_layers", "2"},
                                {"width", std::to_string(width)},
                                {"top_layers", "2"}});
}

/// Units by the names of their last operators.
std::vector<std::string> names(const graph::OpGraph& graph, const planners::UnitGraph& units,
                               const std::vector<std::size_t>& some) {
  std::vector<std::string> out;
  for (const std::size_t unit : some) out.push_back(graph.op(units.operators[unit].back()).name);
  return out;
}

/// Branches to groups, those to devices, in all ways: the least time with these settings for all stages.
class TailTwin {
 public:
  TailTwin(const TailSearch& search, const planners::UnitGraph& units,
           const planners::JoinedBranches& branches)
      : search_(search), units_(units), branches_(branches), group_(branches.side_by_side.size()) {}

  double least() {
    deal(0, 0);
    return least_;
  }
  /// Least value for the plan's groups, over all choices of sharing optimizer state.
  double least_like(const plan::Plan& plan) {
    std::vector<std::int64_t> devices;
    for (std::size_t s = 0; s < plan::behind_pipeline(plan); ++s) {
      const auto& operators = plan.stages[s].operators;
      devices.push_back(static_cast<std::int64_t>(plan.stages[s].devices.size()));
      for (std::size_t b = 0; b < group_.size(); ++b)
        if (std::ranges::count(operators, units_.operators[branches_.side_by_side[b].front()].front()) > 0)
          group_[b] = s;
    }
    for (const int zero : {0, 1})
      for (const int behind : {0, 1}) judge(devices, plan.stages.front().micro_batch, zero, behind);
    return least_;
  }

 private:
  void deal(std::size_t branch, std::size_t groups) {
    if (branch == group_.size()) {
      std::vector<std::int64_t> devices;
      if (groups > 1) share(groups, static_cast<std::int64_t>(search_.cluster.size()), devices);
      return;
    }
    for (std::size_t g = 0; g <= groups; ++g) {
      group_[branch] = g;
      deal(branch + 1, std::max(groups, g + 1));
    }
  }
  void share(std::size_t groups, std::int64_t left, std::vector<std::int64_t>& devices) {
    if (devices.size() + 1 == groups) {
      devices.push_back(left);
      for (std::int64_t in_turn = 1; in_turn <= 16; in_turn *= 2)
        for (const int zero : {0, 1})
          for (const int behind : {0, 1}) judge(devices, search_.mini_batch / in_turn, zero, behind);
      devices.pop_back();
      return;
    }
    for (std::int64_t here = 1; left - here >= static_cast<std::int64_t>(groups - devices.size() - 1);
         ++here) {
      devices.push_back(here);
      share(groups, left - here, devices);
      devices.pop_back();
    }
  }
  void judge(const std::vector<std::int64_t>& devices, std::int64_t micro_batch, int zero, int zero_behind) {
    plan::Plan plan;
    plan.training = search_.problem.training;
    plan.stages.resize(devices.size());
    plan::Stage behind;
    for (std::size_t g = 0, d = 0; g < devices.size(); ++g) {
      plan::Stage& stage = plan.stages[g];
      for (std::int64_t i = 0; i < devices[g]; ++i) stage.devices.emplace_back(d++);
      for (std::size_t b = 0; b < group_.size(); ++b)
        if (group_[b] == g) add(branches_.side_by_side[b], stage);
      stage.micro_batch = micro_batch;
      stage.zero = devices[g] > 1 ? zero : 0;
      behind.devices.insert(behind.devices.end(), stage.devices.begin(), stage.devices.end());
    }
    add(branches_.behind, behind);
    behind.micro_batch = micro_batch;
    behind.zero = zero_behind;
    for (const plan::Stage& part : plan::parts_of(behind, plan.stages)) plan.stages.push_back(part);
    schedule::derive_in_flight(plan, plan::StageGraph(search_.graph, plan),
                               schedule::InFlight::hide_transfers);
    if (score::violations(search_.problem, plan).empty())
      least_ = std::min(least_, simulated(search_.problem, plan));
  }
  void add(const std::vector<std::size_t>& units, plan::Stage& stage) const {
    for (const std::size_t unit : units)
      for (const OpId op : units_.operators[unit]) stage.operators.push_back(op);
    std::ranges::sort(stage.operators);
  }

  const TailSearch& search_;
  const planners::UnitGraph& units_;
  const planners::JoinedBranches& branches_;
  std::vector<std::size_t> group_;
  double least_ = std::numeric_limits<double>::infinity();
};

bool has_tail(const plan::Plan& plan) {
  return plan::behind_pipeline(plan) < plan.stages.size();
}

}  // namespace

TEST_CASE("branches are parallel operators before the first operator that joins all") {
  const auto graph = small_dlrm(2, 64);
  const auto units = planners::planning_units(graph);
  const auto found = planners::joined_branches(units);
  REQUIRE(found);
  REQUIRE(found->side_by_side.size() == 4);  // two tables, two towers
  CHECK(names(graph, units, found->side_by_side[0]) == std::vector<std::string>{"sparse0.embedding"});
  CHECK(names(graph, units, found->side_by_side[1]) ==
        std::vector<std::string>{"dense0.dense0", "dense0.dense1"});
  CHECK(names(graph, units, found->behind) ==
        std::vector<std::string>{"concat", "top.dense0", "top.dense1", "top.click"});
}

TEST_CASE("models in one piece, or that join by and by, have no branches that one operator joins") {
  const auto of = [](std::size_t size, const std::vector<std::pair<int, int>>& edges) {
    return planners::joined_branches(planners::planning_units(support::tiny_graph(size, edges)));
  };
  CHECK_FALSE(of(3, {{0, 1}, {1, 2}}));
  CHECK_FALSE(of(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}}));  // the branches begin in one piece
  CHECK_FALSE(of(4, {{0, 2}, {1, 2}, {1, 3}}));          // 3 does not wait for 0
  CHECK(of(3, {{0, 2}, {1, 2}}));
  // Three branches, two of which meet before they meet the third: those two are one.
  const auto found = of(5, {{0, 2}, {1, 2}, {2, 4}, {3, 4}});
  REQUIRE(found);
  CHECK(found->side_by_side == std::vector<std::vector<std::size_t>>{{0, 1, 2}, {3}});
  CHECK(found->behind == std::vector<std::size_t>{4});
}

TEST_CASE("the search ends at what a slow twin finds, or close to it") {
  int cases = 0, best = 0;
  for (const int width : {256, 1024})
    for (const char* uplink : {"200GB/s", "12GB/s"})
      for (const auto& [nodes, devices] : {std::pair(1, 4), {2, 2}, {2, 3}}) {
        CAPTURE(width);
        CAPTURE(uplink);
        CAPTURE(nodes);
        TailSearch search(small_dlrm(2, width), a100(nodes, devices, uplink), 48 * nodes * devices);
        search.options.max_tensor_parallel = 1;
        const auto found = search.tail();
        REQUIRE(found.plan);
        const plan::Plan& plan = found.plan->draft.plan;
        CHECK(score::violations(search.problem, plan).empty());
        CHECK(found.plan->worth.iteration.value() == simulated(search.problem, plan));
        CHECK(has_tail(plan));
        const auto units = planners::planning_units(search.graph);
        const double least = TailTwin(search, units, *planners::joined_branches(units)).least();
        // No single setting of the plan makes it faster.
        CHECK(TailTwin(search, units, *planners::joined_branches(units)).least_like(plan) >=
              found.plan->worth.iteration.value());
        const double ratio = found.plan->worth.iteration.value() / least;
        CHECK(ratio > 1 - 1e-12);
        CHECK(ratio < 1.05);
        ++cases;
        best += ratio < 1 + 1e-12;
      }
  CAPTURE(cases);
  CHECK(best * 2 >= cases);
}

TEST_CASE("only a plan that is better counts, and a pinned micro-batch of replicas has none") {
  TailSearch search(small_dlrm(2, 1024), a100(2, 2, "12GB/s"), 256);
  const auto found = search.tail();
  REQUIRE(found.plan);
  // Two to four groups, whole or divided by two, in 1 to 16 micro-batches; then what is near the best of
  // these.
  CHECK(found.judged > 3 * 2 * 5);
  CHECK_FALSE(search.tail(found.plan->worth).plan);
  search.options.pipeline_micro_batch = 64;
  const auto pinned = search.tail();
  REQUIRE(pinned.plan);
  for (const plan::Stage& stage : pinned.plan->draft.plan.stages) CHECK(stage.micro_batch == 64);
  search.options.pipeline_micro_batch.reset();
  search.options.micro_batch = 16;
  CHECK_FALSE(search.tail().plan);
}

TEST_CASE("joint answers with a colocated stage behind branches where that is faster, unless it may not") {
  // Towers whose all-reduces between nodes take long.
  TailSearch search(small_dlrm(4, 2048), a100(4, 2, "100GB/s"), 8 * 256);
  search.options.own = {{"evaluations", "100"}, {"starts", "direct"}};
  const auto with = planners::planner("joint").plan(search.problem, search.options, {}).plan;
  search.options.own["colocated"] = "never";
  const auto without = planners::planner("joint").plan(search.problem, search.options, {}).plan;
  CHECK(has_tail(with));
  CHECK_FALSE(has_tail(without));
  CHECK(score::violations(search.problem, with).empty());
  CHECK(simulated(search.problem, with) < simulated(search.problem, without));
}

TEST_CASE("joint begins at a plan with a colocated stage too: other dealings, never a slower one") {
  TailSearch search(small_dlrm(4, 2048), a100(4, 2, "100GB/s"), 8 * 256);
  const auto best = search.tail();
  REQUIRE(best.plan);
  // Two groups and small micro-batches: not what the search ends at.
  search.options.pipeline_micro_batch = 64;
  const auto pinned = search.tail();
  REQUIRE(pinned.plan);
  search.options.pipeline_micro_batch.reset();
  const plan::Plan& from = pinned.plan->draft.plan;
  REQUIRE(simulated(search.problem, from) > best.plan->worth.iteration.value());
  search.options.from = &from;
  search.options.own = {{"evaluations", "100"}};
  const auto improve = [&] {
    return planners::planner("joint").plan(search.problem, search.options, {}).plan;
  };
  CHECK(has_tail(improve()));
  CHECK(simulated(search.problem, improve()) == best.plan->worth.iteration.value());
  search.options.from = &best.plan->draft.plan;
  CHECK(simulated(search.problem, improve()) == best.plan->worth.iteration.value());
  search.options.own = {{"evaluations", "0"}};
  search.options.from = &from;
  CHECK(simulated(search.problem, improve()) == simulated(search.problem, from));
  search.options.own = {{"change", "cuts"}};
  CHECK_THROWS_WITH_AS(
      improve(),
      "the plan has colocated stages, whose cuts are not searched; with change=all branches are dealt "
      "to devices anew",
      core::BadInput);
  search.options.own = {{"colocated", "never"}};
  CHECK_THROWS_AS(improve(), core::BadInput);
}
