// Choices that joint must leave out are in none of its plans, nor in any that it begins with.

#include <doctest/doctest.h>

#include "joint/joint_judge.hpp"
#include "joint/plan_limits.hpp"
#include "models/catalogue.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/planners/planner.hpp"
#include "penstock/score/validate.hpp"
#include "support/fixed_costs.hpp"
#include "support/matrices.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using plan::Partition;

namespace {

/// Sixteen samples of a small decoder on four devices of 64 MiB, where joint shares the optimizer's state or
/// divides tokens unless an option forbids it.
struct TightProblem {
  graph::OpGraph graph =
      models::build("gpt", {{"layers", "4"}, {"hidden", "128"}, {"heads", "4"}, {"vocabulary", "500"}});
  cluster::Cluster cluster = support::tiny_cluster(4, std::int64_t{64} << 20);
  cost::AnalyticCosts costs;
  cost::Problem problem{graph, cluster, costs, {16, plan::Optimizer::adam}};

  plan::Plan plan(planners::OwnOptions own) const {
    planners::SearchOptions options;
    options.own = std::move(own);
    options.own.insert({{"evaluations", "1000"}, {"starts", "direct"}});
    plan::Plan found = planners::planner("joint").plan(problem, options, {}).plan;
    CHECK(score::violations(problem, found) == std::vector<std::string>{});
    return found;
  }
};

plan::Stage stage(int zero, bool tokens, plan::Recomputation again) {
  plan::Stage out;
  out.zero = zero;
  out.sequence_parallel = tokens;
  out.recompute = again;
  return out;
}

bool allowed(const planners::PlanLimits& limits, const plan::Stage& one) {
  plan::Plan plan;
  plan.stages = {plan::Stage{}, one};
  return limits.allow(plan);
}

}  // namespace

TEST_CASE("each limit forbids what it names in any stage, and nothing else") {
  const auto plain = stage(0, false, {}), shared = stage(2, false, {}), tokens = stage(0, true, {});
  const auto layers = stage(0, false, plan::kRecomputeLayers), core = stage(0, false, plan::kRecomputeCore);
  auto one_operator = plain;
  one_operator.partition[core::OpId(3)] = Partition::sequence;
  auto context = plain, experts = plain, some = shared;
  context.context_parallel = experts.expert_parallel = 4;
  some.zero_over = 2;
  for (const auto& any : {plain, shared, tokens, layers, core, one_operator, context, experts, some})
    CHECK(allowed({}, any));
  CHECK(allowed({.context_parallel = 4}, context));
  CHECK_FALSE(allowed({.context_parallel = 2}, context));
  CHECK(allowed({.expert_parallel = 4}, experts));
  CHECK_FALSE(allowed({.expert_parallel = 2}, experts));
  CHECK(allowed({.hybrid_sharding = false}, shared));
  CHECK_FALSE(allowed({.hybrid_sharding = false}, some));
  CHECK(allowed({.zero = 2}, shared));
  CHECK_FALSE(allowed({.zero = 1}, shared));
  for (const auto& divided : {tokens, one_operator})
    CHECK_FALSE(allowed({.sequence_parallel = false}, divided));
  CHECK(allowed({.recompute_cores = false}, layers));
  CHECK_FALSE(allowed({.recompute_cores = false}, core));
  CHECK_FALSE(allowed({.recompute = false}, layers));
  for (const planners::PlanLimits& limits :
       {planners::PlanLimits{.zero = 0}, planners::PlanLimits{.sequence_parallel = false},
        planners::PlanLimits{.recompute = false}})
    CHECK(allowed(limits, plain));
}

TEST_CASE("a search within limits keeps to them where it would rather not") {
  const TightProblem tight;
  const auto free = tight.plan({});
  CHECK_FALSE(planners::PlanLimits{.zero = 0, .sequence_parallel = false}.allow(free));
  const auto within =
      tight.plan({{"max_zero", "0"}, {"sequence_parallel", "never"}, {"recompute", "layers"}});
  const planners::PlanLimits limits{
      .zero = 0, .sequence_parallel = false, .recompute_cores = false, .context_parallel = 1};
  CHECK(limits.allow(within));
  for (const plan::Stage& one : tight.plan({{"max_tensor_parallel", "1"}}).stages)
    CHECK(one.tensor_parallel == 1);
}

TEST_CASE("a search without a plan within the limits reports it, and refuses a start outside of them") {
  const TightProblem tight;
  const plan::Plan free = tight.plan({});
  planners::SearchOptions options;
  options.from = &free;
  options.own = {{"max_zero", "0"}, {"sequence_parallel", "never"}};
  CHECK_THROWS_AS(planners::planner("joint").plan(tight.problem, options, {}), core::BadInput);
  CHECK_THROWS_AS(tight.plan({{"max_zero", "0"}, {"max_tensor_parallel", "1"}, {"recompute", "none"}}),
                  core::Infeasible);
}

TEST_CASE("a plan that does not fit, or breaks a rule, is the worst, however fast it is") {
  const auto g = support::matrices(2);
  const auto costs = support::FixedCosts::uniform(2, 1e-3, 2e-3);
  plan::Plan p;
  p.training.mini_batch = 8;
  p.stages = {support::stage(0, 1, 1, 1)};
  p.stages[0].micro_batch = p.stages[0].in_flight = 8;
  const auto judged = [&](std::int64_t memory) {
    const auto cluster = support::tiny_cluster(1, memory);
    const cost::Problem problem{g, cluster, costs, p.training};
    planners::SearchOptions options;
    return planners::JointJudge(problem, options).worth(p);
  };
  // 16 kB of weights and gradients and more than as much of tensors.
  CHECK(judged(1 << 20).least < 1);
  CHECK(judged(20'000) == planners::PlanScore{});
  p.stages[0].micro_batch = 3;  // of eight samples
  CHECK(judged(1 << 20) == planners::PlanScore{});
}

TEST_CASE("whole layers without ZeRO, groups and recomputation have a plan where only a pipeline fits") {
  // Four replicas do not fit; two stages on two devices each do.
  TightProblem tight;
  tight.cluster = support::tiny_cluster(4, std::int64_t{130} << 20);
  const planners::OwnOptions limits{{"units", "layers"},
                                    {"max_zero", "0"},
                                    {"max_tensor_parallel", "1"},
                                    {"max_context_parallel", "1"},
                                    {"recompute", "none"}};
  const plan::Plan found = tight.plan(limits);
  CHECK(found.stages.size() > 1);
  for (const plan::Stage& one : found.stages) {
    CHECK(one.replica_size() == 1);
    CHECK(one.zero == 0);
    CHECK_FALSE(one.recompute);
  }
}
