// Operators that share parameters have one shard of them on a device.

#include "penstock/layout/ties.hpp"

#include <doctest/doctest.h>

#include "models/catalogue.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/planners/planner.hpp"
#include "penstock/score/validate.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using core::OpId;
using layout::WeightAxis;
using plan::Partition;

namespace {

graph::OpGraph tied_gpt() {
  return models::build(
      "gpt", {{"layers", "2"}, {"hidden", "32"}, {"heads", "4"}, {"sequence", "8"}, {"vocabulary", "64"}});
}

OpId named(const graph::OpGraph& graph, const std::string& name) {
  for (std::size_t v = 0; v < graph.size(); ++v)
    if (graph.op(OpId(v)).name == name) return OpId(v);
  FAIL("there is no operator " << name);
  return {};
}

/// All of the model on two devices.
plan::Plan on_two(const graph::OpGraph& graph) {
  plan::Plan out;
  out.training.mini_batch = 4;
  plan::Stage& stage = out.stages.emplace_back();
  for (std::size_t v = 0; v < graph.size(); ++v) stage.operators.emplace_back(v);
  stage.devices = {core::DeviceId(0), core::DeviceId(1)};
  stage.tensor_parallel = 2;
  stage.micro_batch = stage.in_flight = 4;
  return out;
}

}  // namespace

TEST_CASE("a tied head: table and head by vocabulary have one shard, both by columns have two") {
  const auto graph = tied_gpt();
  const OpId table = named(graph, "token.embedding"), head = named(graph, "head");
  REQUIRE(graph.owner(head) == table);
  auto plan = on_two(graph);
  CHECK(layout::tie_violations(graph, plan)
            .empty());  // Megatron-LM's rule: rows of the table are columns of the head
  CHECK(layout::weight_axis(graph, plan.stages[0], table) == WeightAxis::first);
  plan.stages[0].partition = {{table, Partition::column}, {head, Partition::column}};
  const auto violations = layout::tie_violations(graph, plan);
  REQUIRE(violations.size() == 1);
  CHECK(
      violations[0] ==
      "stage 0: operators 'token.embedding' and 'head' share parameters, and want different shards of them");
  plan.stages[0].partition = {{table, Partition::column}, {head, Partition::row}};
  CHECK(layout::tie_violations(graph, plan).empty());
  plan.stages[0].partition = {{table, Partition::whole}, {head, Partition::column}};
  CHECK(layout::tie_violations(graph, plan).size() == 1);
  // Both have all of it. A gradient of some samples is a term of the sum, one of all samples is the sum.
  for (const auto of_table : {Partition::whole, Partition::batch, Partition::sequence})
    for (const auto of_head : {Partition::whole, Partition::batch, Partition::sequence}) {
      plan.stages[0].partition = {{table, of_table}, {head, of_head}};
      CHECK(layout::tie_violations(graph, plan).size() == (of_table == of_head ? 0 : 1));
    }
  CHECK(layout::tie_violations(graph, plan).empty());
  plan.stages[0].partition = {{table, Partition::whole}, {head, Partition::batch}};
  CHECK(layout::tie_violations(graph, plan) ==
        std::vector<std::string>{"stage 0: operators 'token.embedding' and 'head' share parameters, and have "
                                 "gradients of different samples or tokens"});
}

TEST_CASE("the judge refuses such a plan, and accpar makes none") {
  const auto graph = tied_gpt();
  const auto cluster = support::tiny_cluster(2);
  const cost::AnalyticCosts costs;
  auto plan = on_two(graph);
  const cost::Problem problem{graph, cluster, costs, plan.training};
  CHECK(score::rule_violations(problem, plan).empty());
  plan.stages[0].partition = {{named(graph, "token.embedding"), Partition::column},
                              {named(graph, "head"), Partition::column}};
  CHECK(score::rule_violations(problem, plan).size() == 1);
  CHECK(score::stage_violations(problem, plan) == score::rule_violations(problem, plan));
  const auto found = planners::planner("accpar").plan(problem, {}, {});
  CHECK(score::violations(problem, found.plan).empty());
}

TEST_CASE("accpar divides three operators that share a table equally, though each would differ by itself") {
  const auto graph = models::build("encoder_decoder", {});
  const auto cluster = cluster::load_cluster("summit").first(8);
  const cost::AnalyticCosts costs;
  const cost::Problem problem{graph, cluster, costs, {128, plan::Optimizer::adam}};
  const auto found = planners::planner("accpar").plan(problem, {}, {});
  CHECK(found.plan.stages.front().tensor_parallel > 1);
  CHECK(score::rule_violations(problem, found.plan).empty());
}
