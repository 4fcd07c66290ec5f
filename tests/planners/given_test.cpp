// given builds the stages of its options, and chooses only the micro-batch.

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string>

#include "models/catalogue.hpp"
#include "penstock/core/error.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/planners/planner.hpp"
#include "penstock/score/estimate.hpp"
#include "penstock/score/validate.hpp"
#include "support/tiny.hpp"

using namespace penstock;

namespace {

struct GptProblem {
  graph::OpGraph graph;
  cluster::Cluster cluster;
  cost::AnalyticCosts costs;
  GptProblem(const char* layers, std::size_t devices)
      : graph(models::build(
            "gpt",
            {{"layers", layers}, {"hidden", "64"}, {"heads", "4"}, {"sequence", "32"}, {"loss", "yes"}})),
        cluster(support::tiny_cluster(devices)) {}
  cost::Problem problem() const { return {graph, cluster, costs, {16, plan::Optimizer::sgd}}; }

  plan::Plan plan(const planners::OwnOptions& own, std::int64_t pipeline_micro_batch = 0) const {
    planners::SearchOptions options;
    options.own = own;
    if (pipeline_micro_batch > 0) options.pipeline_micro_batch = pipeline_micro_batch;
    const auto found = planners::planner("given").plan(problem(), options, {});
    CHECK(score::violations(problem(), found.plan) == std::vector<std::string>{});
    return found.plan;
  }

  std::string fault(const planners::OwnOptions& own) const {
    try {
      plan(own);
      return "";
    } catch (const core::BadInput& e) {
      return e.what();
    }
  }
};

/// Layers whose operators a stage has, by their names: "layer3.attention" is of layer 3.
std::set<int> layers_of(const graph::OpGraph& graph, const plan::Stage& stage) {
  std::set<int> out;
  for (const core::OpId id : stage.operators)
    if (const std::string& name = graph.op(id).name; name.starts_with("layer"))
      out.insert(std::stoi(name.substr(std::string("layer").size())));
  return out;
}

bool has(const graph::OpGraph& graph, const plan::Stage& stage, const std::string& name) {
  return std::ranges::any_of(stage.operators, [&](core::OpId id) { return graph.op(id).name == name; });
}

}  // namespace

TEST_CASE("3-4-3-2: four stages in a row, embedding in the first, head and loss in the last") {
  const GptProblem gpt("12", 8);
  const plan::Plan plan = gpt.plan({{"layers", "3-4-3-2"}});
  REQUIRE(plan.stages.size() == 4);
  CHECK(layers_of(gpt.graph, plan.stages[0]) == std::set{0, 1, 2});
  CHECK(layers_of(gpt.graph, plan.stages[1]) == std::set{3, 4, 5, 6});
  CHECK(layers_of(gpt.graph, plan.stages[2]) == std::set{7, 8, 9});
  CHECK(layers_of(gpt.graph, plan.stages[3]) == std::set{10, 11});
  CHECK(has(gpt.graph, plan.stages[0], "token.embedding"));
  CHECK(has(gpt.graph, plan.stages[3], "head"));
  CHECK(plan.schedule == "1f1b");
  for (std::size_t s = 0; s < 4; ++s)
    CHECK(plan.stages[s].devices == std::vector{core::DeviceId(2 * s), core::DeviceId(2 * s + 1)});
}

TEST_CASE("a stage may hold only the embedding, another only the head; all: one stage") {
  const GptProblem gpt("2", 4);
  const plan::Plan ends = gpt.plan({{"layers", "0-1-1-0"}});
  CHECK(layers_of(gpt.graph, ends.stages[0]).empty());
  CHECK(layers_of(gpt.graph, ends.stages[3]).empty());
  const plan::Plan whole = gpt.plan({{"layers", "all"}});
  REQUIRE(whole.stages.size() == 1);
  CHECK(whole.stages[0].replicas() == 4);
}

TEST_CASE("chunks: stage s is on rank s mod ranks; micro-batches come in rounds of ranks") {
  const GptProblem gpt("4", 2);
  const plan::Plan plan = gpt.plan({{"layers", "1-1-1-1"}, {"chunks", "2"}});
  CHECK(plan.schedule == "interleaved_1f1b");
  for (std::size_t s = 0; s < 4; ++s) CHECK(plan.stages[s].devices == std::vector{core::DeviceId(s % 2)});
  CHECK(16 / plan.stages[0].micro_batch % 2 == 0);
  // One micro-batch of all 16 samples is no round of two.
  planners::SearchOptions options;
  options.own = {{"layers", "1-1-1-1"}, {"chunks", "2"}};
  options.pipeline_micro_batch = 16;
  CHECK_THROWS_AS(planners::planner("given").plan(gpt.problem(), options, {}), core::Infeasible);
}

TEST_CASE("degrees, ZeRO and recomputation are those stated, replicas what they leave") {
  const GptProblem gpt("2", 8);
  const plan::Plan plan = gpt.plan({{"layers", "1-1"},
                                    {"tensor_parallel", "2"},
                                    {"sequence_parallel", "true"},
                                    {"zero", "1"},
                                    {"recompute", "layers"}});
  for (const plan::Stage& stage : plan.stages) {
    CHECK(stage.tensor_parallel == 2);
    CHECK(stage.sequence_parallel);
    CHECK(stage.replicas() == 2);
    CHECK(stage.zero == 1);
    CHECK(stage.recompute == plan::kRecomputeLayers);
  }
  CHECK(gpt.plan({{"context_parallel", "4"}}).stages[0].context_parallel == 4);
}

TEST_CASE("the micro-batch is the fastest of those that a pin gives") {
  const GptProblem gpt("4", 4);
  const planners::OwnOptions own = {{"layers", "1-2-1-0"}};
  double least = std::numeric_limits<double>::infinity();
  for (const std::int64_t samples : {1, 2, 4, 8, 16})
    least = std::min(least, score::estimate(gpt.problem(), gpt.plan(own, samples)).iteration.value());
  CHECK(score::estimate(gpt.problem(), gpt.plan(own)).iteration.value() == least);
}

TEST_CASE("impossible choices are refused by name") {
  const GptProblem gpt("4", 4);
  CHECK(gpt.fault({{"layers", "3-2"}}) == "given: layers: 3-2: 5 layers, the model has 4");
  CHECK(gpt.fault({{"layers", "2-0-2"}}) == "given: layers: 2-0-2: stage 1 would be empty");
  CHECK(gpt.fault({{"layers", "2-1-1"}}).starts_with("given: 4 devices are no multiple of 3 ranks"));
  CHECK(gpt.fault({{"layers", "2-2"}, {"chunks", "3"}}) == "given: 2 stages are not 3 for each rank");
  const auto tiny = support::tiny_graph(2, {{0, 1}});  // operators a and b: no row of layers, no attention
  const cost::Problem bare{tiny, gpt.cluster, gpt.costs, {16, plan::Optimizer::sgd}};
  planners::SearchOptions options;
  for (const auto& own : {planners::OwnOptions{{"layers", "1-1"}}, {{"recompute", "selective"}}}) {
    options.own = own;
    CHECK_THROWS_AS(planners::planner("given").plan(bare, options, {}), core::BadInput);
  }
}
