// megatron divides experts if the option allows it.

#include <doctest/doctest.h>

#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "models/catalogue.hpp"
#include "penstock/check/trace_violations.hpp"
#include "penstock/cluster/cluster.hpp"
#include "penstock/core/error.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/plan/plan_file.hpp"
#include "penstock/planners/planner.hpp"
#include "penstock/planners/untried_groups.hpp"
#include "penstock/score/estimate.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/validate.hpp"
#include "penstock/sim/simulate.hpp"
#include "support/tiny.hpp"

using namespace penstock;

namespace {

const cost::AnalyticCosts kAnalytic;

/// Nothing where none fits.
std::optional<plan::Plan> divided(const cost::Problem& problem, int most_experts, int most_tensor) {
  planners::SearchOptions options;
  options.max_tensor_parallel = most_tensor;
  options.own = {{"max_expert_parallel", std::to_string(most_experts)}};
  try {
    return planners::planner("megatron").plan(problem, options, {}).plan;
  } catch (const core::Infeasible&) {
    return std::nullopt;
  }
}

/// Sizes of expert groups, of all stages.
std::set<int> expert_sizes(const plan::Plan& plan) {
  std::set<int> out;
  for (const plan::Stage& stage : plan.stages) out.insert(stage.expert_parallel);
  return out;
}

core::Seconds estimated(const cost::Problem& problem, const plan::Plan& plan) {
  return score::estimate(problem, plan).iteration;
}

core::Seconds simulated(const cost::Problem& problem, const plan::Plan& plan) {
  return to_seconds(sim::simulate_time(problem, score::scheduled(problem, plan)));
}

/// Checks the plan, and its simulated trace.
void check_valid(const cost::Problem& problem, const plan::Plan& plan) {
  CHECK(score::violations(problem, plan) == std::vector<std::string>{});
  const auto scheduled = score::scheduled(problem, plan);
  CHECK(check::trace_violations(problem, scheduled, sim::simulate(problem, scheduled)) ==
        std::vector<std::string>{});
}

graph::OpGraph small_mixture(const char* experts) {
  return models::build("mixtral", {{"layers", "2"},
                                   {"hidden", "32"},
                                   {"heads", "4"},
                                   {"kv_heads", "4"},
                                   {"sequence", "16"},
                                   {"vocabulary", "64"},
                                   {"experts", experts},
                                   {"chosen", "2"},
                                   {"expert_width", "256"}});
}

}  // namespace

TEST_CASE("Mixtral 8x7B with Adam on 16 and 32 H100: experts divided are faster than experts whole" *
          doctest::test_suite("oracle")) {
  const auto graph = models::build("mixtral", {{"element_bytes", "2"}});
  for (const char* name : {"8xH100x2", "8xH100x4"}) {
    CAPTURE(name);
    const auto cluster = cluster::load_cluster(name);
    cost::Problem problem{graph, cluster, kAnalytic, {128, plan::Optimizer::adam}};
    problem.training.precision = plan::mixed_precision("mixed_bf16");
    const auto whole = divided(problem, 1, 8), parts = divided(problem, 8, 8);
    REQUIRE(whole);
    REQUIRE(parts);
    CHECK(expert_sizes(*whole) == std::set<int>{1});
    CHECK(*expert_sizes(*parts).begin() > 1);
    CHECK(estimated(problem, *parts) < estimated(problem, *whole));
    CHECK(simulated(problem, *parts) < simulated(problem, *whole));
    check_valid(problem, *parts);
  }
}

TEST_CASE("experts that fit no device whole do in parts, as many as divide their number") {
  // An expert has 3 x 32 x 256 numbers, which take 8 bytes with their gradients: eight of them 1,572,864
  // bytes, six 1,179,648. No stage has less than all of a layer's, unless they are divided.
  for (const auto& [experts, memory, sizes] :
       {std::tuple{"8", 1'500'000, std::set<int>{2, 4, 8}}, {"6", 1'170'000, std::set<int>{2}}}) {
    CAPTURE(experts);
    const auto graph = small_mixture(experts);
    const auto cluster = support::tiny_cluster(8, memory);
    const cost::Problem problem{graph, cluster, kAnalytic, {8, plan::Optimizer::sgd}};
    CHECK_FALSE(divided(problem, 1, 1));
    const auto parts = divided(problem, 8, 1);
    REQUIRE(parts);
    const auto found = expert_sizes(*parts);
    REQUIRE(found.size() == 1);
    CHECK(sizes.contains(*found.begin()));
    check_valid(problem, *parts);
  }
}

TEST_CASE("experts go over tensor-parallel devices that replicas without them do not hold") {
  // Four devices of one tensor-parallel group have one replica: it divides experts only if they are whole.
  const auto graph = small_mixture("8");
  const auto cluster = support::tiny_cluster(8);
  const cost::Problem problem{graph, cluster, kAnalytic, {8, plan::Optimizer::sgd}};
  planners::SearchOptions options;
  options.own = {{"tensor_parallel", "8"},
                 {"sequence_parallel", "true"},
                 {"expert_parallel", "8"},
                 {"whole_experts", "true"}};
  const auto stated = planners::planner("given").plan(problem, options, {}).plan;
  CHECK(stated.stages.front().whole_experts);
  check_valid(problem, stated);
  options.own["whole_experts"] = "false";
  CHECK_THROWS_AS(planners::planner("given").plan(problem, options, {}), core::Infeasible);
}

TEST_CASE("megatron leaves experts whole where their parts would gather many copies") {
  // Tokens take half of the experts: with parts of experts a group gathers four copies of each.
  const auto graph = models::build("mixtral", {{"layers", "4"},
                                               {"hidden", "512"},
                                               {"heads", "8"},
                                               {"kv_heads", "8"},
                                               {"sequence", "1024"},
                                               {"vocabulary", "512"},
                                               {"experts", "8"},
                                               {"chosen", "4"},
                                               {"expert_width", "2048"}});
  const auto cluster = support::tiny_cluster(8, 700'000'000);
  const cost::Problem problem{graph, cluster, kAnalytic, {2, plan::Optimizer::adam}};
  const auto found = divided(problem, 8, 8);
  REQUIRE(found);
  check_valid(problem, *found);
  CHECK(found->stages.front().whole_experts);
  CHECK(found->stages.front().expert_parallel > found->stages.front().weight_replicas());
}

TEST_CASE("there are no expert groups without experts") {
  const auto cluster = support::tiny_cluster(8);
  const auto dense =
      models::build("gpt", {{"layers", "2"}, {"hidden", "32"}, {"heads", "4"}, {"sequence", "16"}});
  const cost::Problem problem{dense, cluster, kAnalytic, {8, plan::Optimizer::sgd}};
  CHECK(plan::to_yaml(dense, divided(problem, 8, 1).value()) ==
        plan::to_yaml(dense, divided(problem, 1, 1).value()));
}

TEST_CASE("planners that leave experts or tokens whole name the option that divides them") {
  const auto mixture = small_mixture("8");
  const auto cluster = support::tiny_cluster(8);
  const cost::Problem problem{mixture, cluster, kAnalytic, {8, plan::Optimizer::sgd}};
  const auto untried = [&](const char* planner) {
    return in_words(planners::untried_groups(problem, planners::planner_choice(planner)));
  };
  CHECK(untried("megatron") ==
        "not tried: groups that divide experts (option max_expert_parallel=8), groups that divide tokens "
        "(option max_context_parallel=8)");
  CHECK(untried("megatron:max_expert_parallel=2") ==
        "not tried: groups that divide tokens (option max_context_parallel=8)");
  CHECK(untried("megatron:max_expert_parallel=8:max_context_parallel=2").empty());
  CHECK(untried("joint").empty());
  CHECK(untried("joint:max_expert_parallel=1") ==
        "not tried: groups that divide experts (option max_expert_parallel=8)");
  CHECK(untried("spp").starts_with("not tried: groups that divide experts (planner joint tries them), "));
  CHECK(planners::untried_groups(problem, {"mine"}).empty());
  const auto dense =
      models::build("gpt", {{"layers", "2"}, {"hidden", "32"}, {"heads", "4"}, {"sequence", "16"}});
  const cost::Problem plain{dense, cluster, kAnalytic, {8, plan::Optimizer::sgd}};
  CHECK(planners::untried_groups(plain, {"megatron"}).empty());
}
