// joint divides tokens and experts, and lets few devices share by ZeRO, if that is faster or fits and nothing
// else does.

#include <doctest/doctest.h>

#include <algorithm>

#include "joint/move.hpp"
#include "models/catalogue.hpp"
#include "penstock/cluster/cluster.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/planners/planner.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/validate.hpp"
#include "penstock/sim/simulate.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using planners::PlanDraft;

namespace {

/// A decoder of mixtures, of eight experts each.
graph::OpGraph mixture() {
  return models::build("mixtral", {{"layers", "2"},
                                   {"hidden", "128"},
                                   {"heads", "4"},
                                   {"kv_heads", "4"},
                                   {"expert_width", "512"},
                                   {"vocabulary", "500"},
                                   {"sequence", "128"}});
}

/// All operators on all devices.
PlanDraft one_stage(const cost::Problem& problem, std::int64_t micro_batch) {
  PlanDraft out;
  out.plan.training = problem.training;
  plan::Stage& stage = out.plan.stages.emplace_back();
  for (std::size_t op = 0; op < problem.graph.size(); ++op) stage.operators.emplace_back(op);
  for (std::size_t d = 0; d < problem.cluster.size(); ++d) stage.devices.emplace_back(d);
  stage.micro_batch = micro_batch;
  return out;
}

struct MixtureSpace {
  graph::OpGraph graph = mixture();
  cluster::Cluster cluster = support::tiny_cluster(8);
  cost::AnalyticCosts costs;
  cost::Problem problem{graph, cluster, costs, {16, plan::Optimizer::adam}};
  planners::SearchOptions options{};

  std::vector<plan::Stage> reached(planners::PlanLimits limits) const {
    const planners::PlanSpace space(problem, options, planners::planning_units(graph), limits);
    const PlanDraft draft = one_stage(problem, 16);
    std::vector<plan::Stage> out;
    for (const planners::Move& move : planners::mesh_moves(planners::MoveContext(space, draft))) {
      PlanDraft next = draft;
      move(next);
      if (!space.tidy(next)) continue;
      const auto made = space.completed(next);
      if (!made) continue;
      CHECK(score::violations(problem, made->plan).empty());
      out.push_back(made->plan.stages.front());
    }
    return out;
  }
};

plan::Plan found(const cost::Problem& problem, planners::OwnOptions own) {
  planners::SearchOptions options;
  options.evaluate = [&](const plan::Plan& plan) {
    return to_seconds(sim::simulate_time(problem, score::scheduled(problem, plan)));
  };
  options.own = std::move(own);
  options.own.insert({{"evaluations", "400"}, {"starts", "quick"}});
  plan::Plan out = planners::planner("joint").plan(problem, options, {}).plan;
  CHECK(score::violations(problem, out) == std::vector<std::string>{});
  return out;
}

double seconds(const cost::Problem& problem, const plan::Plan& plan) {
  return to_seconds(sim::simulate_time(problem, score::scheduled(problem, plan))).value();
}

}  // namespace

TEST_CASE("moves divide tokens and experts over groups, and ZeRO over some of the devices") {
  const MixtureSpace mixture;
  const auto stages = mixture.reached({});
  const auto any = [&](auto holds) { return std::ranges::any_of(stages, holds); };
  for (const int size : {2, 4, 8}) {
    CAPTURE(size);
    CHECK(any([&](const plan::Stage& s) { return s.context_parallel == size && s.micro_batch == 16; }));
    CHECK(
        any([&](const plan::Stage& s) { return s.context_parallel == size && s.micro_batch == 16 / size; }));
    CHECK(any([&](const plan::Stage& s) { return s.expert_parallel == size && s.micro_batch == 16; }));
  }
  for (const int zero : {1, 2, 3})
    for (const int over : {0, 2, 4})
      CHECK(any([&](const plan::Stage& s) { return s.zero == zero && s.zero_over == over; }));
}

TEST_CASE("groups are no larger than the limit, and there are none if nothing can be divided") {
  const MixtureSpace mixture;
  const auto stages =
      mixture.reached({.zero = 1, .context_parallel = 2, .expert_parallel = 4, .hybrid_sharding = false});
  for (const plan::Stage& stage : stages) {
    CHECK(stage.context_parallel <= 2);
    CHECK(stage.expert_parallel <= 4);
    CHECK(stage.zero_over == 0);
  }
  CHECK(std::ranges::count(stages, 2, &plan::Stage::context_parallel) > 0);
  CHECK(std::ranges::count(stages, 4, &plan::Stage::expert_parallel) > 0);
  const auto images = models::build("vgg16", {});
  const cost::Problem other{images, mixture.cluster, mixture.costs, {16, plan::Optimizer::adam}};
  const planners::PlanSpace space(other, mixture.options, planners::planning_units(images));
  CHECK(space.context_sizes() == std::vector{1});
  CHECK(space.expert_sizes() == std::vector{1});
}

TEST_CASE("ZeRO over all devices with equal weights, or over none, has one form") {
  const MixtureSpace mixture;
  const planners::PlanSpace space(mixture.problem, mixture.options, planners::planning_units(mixture.graph));
  const auto key = [&](int zero, std::int64_t over, int context) {
    PlanDraft draft = one_stage(mixture.problem, 16);
    plan::Stage& stage = draft.plan.stages.front();
    stage.zero = zero, stage.zero_over = over, stage.context_parallel = context;
    REQUIRE(space.tidy(draft));
    return space.key(draft);
  };
  CHECK(key(1, 8, 1) == key(1, 0, 1));
  CHECK(key(0, 4, 1) == key(0, 0, 1));
  CHECK(key(1, 3, 1) == key(1, 0, 1));  // no whole groups
  CHECK(key(1, 4, 1) != key(1, 0, 1));
  CHECK(key(1, 0, 8) != key(0, 0, 8));  // context groups of one replica share too
}

TEST_CASE("tokens of one long sample are divided over two nodes, which is faster") {
  const auto graph = models::build("llama", {{"layers", "2"},
                                             {"hidden", "1024"},
                                             {"heads", "2"},
                                             {"kv_heads", "2"},
                                             {"feed_forward", "2048"},
                                             {"vocabulary", "500"},
                                             {"sequence", "16384"}});
  const auto cluster = cluster::load_cluster("dgx_a100").first(16);
  const cost::AnalyticCosts costs;
  const cost::Problem problem{graph, cluster, costs, {1, plan::Optimizer::adam}};
  const plan::Plan free = found(problem, {}), whole = found(problem, {{"max_context_parallel", "1"}});
  CHECK(std::ranges::any_of(free.stages, [](const plan::Stage& s) { return s.context_parallel > 1; }));
  CHECK(seconds(problem, free) < 0.95 * seconds(problem, whole));
}

TEST_CASE("experts that fit on no device are divided: faster than other ways to make them fit") {
  const auto graph = mixture();
  const auto cluster = support::tiny_cluster(8, std::int64_t{24} << 20);
  const cost::AnalyticCosts costs;
  const cost::Problem problem{graph, cluster, costs, {32, plan::Optimizer::adam}};
  const plan::Plan free = found(problem, {}), whole = found(problem, {{"max_expert_parallel", "1"}});
  const plan::Plan start = found(problem, {{"evaluations", "0"}});
  for (const plan::Plan* plan : {&free, &start})
    CHECK(std::ranges::any_of(plan->stages, [](const plan::Stage& s) { return s.expert_parallel > 1; }));
  CHECK(seconds(problem, free) < seconds(problem, whole));
}
