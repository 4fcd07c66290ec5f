// Sums over operators against stages divided by the rule.

#include "planners/tensor/sharded_operators.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "models/catalogue.hpp"
#include "penstock/cost/analytic.hpp"
#include "support/near.hpp"
#include "support/random_graph.hpp"
#include "support/random_problem.hpp"

using namespace penstock;
using core::OpId;
using graph::OpKind;

namespace {

graph::OpGraph random_model(core::Random& random) {
  const auto dag = test::random_series_parallel(random, random.between(2, 12));
  graph::GraphBuilder builder("random");
  for (std::size_t v = 0; v < dag.size(); ++v) {
    auto op = support::unit_op("op" + std::to_string(v), 1e9, random.between(1, 9) * 100);
    const bool source = dag.predecessors(static_cast<graph::Vertex>(v)).empty();
    constexpr OpKind kSources[] = {OpKind::input, OpKind::embedding, OpKind::linear};
    constexpr OpKind kOthers[] = {OpKind::linear, OpKind::convolution, OpKind::attention,
                                  OpKind::norm,   OpKind::activation,  OpKind::matmul};
    op.kind = source ? kSources[random.between(0, 2)] : kOthers[random.between(0, 5)];
    if (op.kind == OpKind::input || op.kind == OpKind::activation || op.kind == OpKind::matmul)
      op.parameters = 0;
    op.output_bytes = op.saved_bytes = core::Bytes(random.between(1, 9) * 100);
    builder.add(op);
  }
  for (const auto& [from, to] : dag.edges())
    builder.add_edge(OpId(static_cast<std::size_t>(from)), OpId(static_cast<std::size_t>(to)));
  return builder.build();
}

plan::Stage stage(std::size_t first, std::size_t last, int degree) {
  plan::Stage out;
  for (std::size_t v = first; v < last; ++v) out.operators.emplace_back(v);
  for (int d = 0; d < degree; ++d) out.devices.emplace_back(static_cast<std::size_t>(d));
  out.tensor_parallel = degree;
  return out;
}

struct OperatorSum {
  double seconds = 0;
  bool whole_ends = true;  ///< and one reader for each tensor that crosses
};

OperatorSum sum(const graph::OpGraph& graph, const planners::ShardedTimes& times, const plan::Stage& stage) {
  const auto whole = layout::infer(graph, ::stage(0, graph.size(), stage.tensor_parallel));
  const auto inside = [&](OpId id) {
    return std::binary_search(stage.operators.begin(), stage.operators.end(), id);
  };
  OperatorSum out{times.of(stage.operators).total};
  std::vector<int> crossings(graph.size());
  for (const auto& [from, to] : graph.dag().edges()) {
    const OpId made(static_cast<std::size_t>(from)), reader(static_cast<std::size_t>(to));
    if (inside(made) == inside(reader)) continue;
    out.seconds += inside(made) ? times.output_time(made, reader) : times.input_time(made, reader);
    const auto part = cost::op_shard(graph.op(made), whole.partition[made.index()], 0.5);
    if (!part.whole_output || ++crossings[made.index()] > 1) out.whole_ends = false;
  }
  return out;
}

}  // namespace

TEST_CASE("sharded operators: the sum is a stage's time if tensors lie whole at its ends, else no less") {
  int exact = 0, above = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    core::Random random(seed);
    const auto graph = random_model(random);
    std::vector<support::LaunchCosts::PassTime> passes;
    for (std::size_t v = 0; v < graph.size(); ++v) passes.push_back({0.1 * random.unit(), random.unit()});
    const support::LaunchCosts costs(passes);
    const int degree = random.chance(0.5) ? 2 : 4;
    const auto cluster =
        support::tiny_cluster(static_cast<std::size_t>(degree), std::int64_t{1} << 40, 500, 0.01);
    const cost::Problem problem{graph, cluster, costs, {8}};
    const planners::ShardedOperators operators(problem, degree);
    const planners::ShardedTimes times(operators, 4);
    for (std::size_t first = 0; first < graph.size(); ++first)
      for (std::size_t last = first + 1; last <= graph.size(); ++last) {
        const auto part = stage(first, last, degree);
        const OperatorSum added = sum(graph, times, part);
        const double true_time = cost::stage_time(problem, part, 4).total().total().value();
        CHECK(added.seconds >= true_time * (1 - 1e-12));
        if (added.whole_ends) CHECK(added.seconds == support::near(true_time, 1e-12));
        exact += added.whole_ends;
        above += added.seconds > true_time * (1 + 1e-9);
      }
  }
  CHECK(exact > 1000);
  CHECK(above > 1000);
}

TEST_CASE("sharded operators: a transformer's layers add up exactly, memory of the whole too") {
  const auto graph = models::build("gpt", {{"layers", "4"}});
  const auto cluster = support::tiny_cluster(4);
  const cost::AnalyticCosts costs;
  const cost::Problem problem{graph, cluster, costs, {8}};
  const planners::ShardedOperators operators(problem, 4);
  const planners::ShardedTimes times(operators, 2);
  const auto whole = stage(0, graph.size(), 4);
  CHECK(sum(graph, times, whole).seconds ==
        support::near(cost::stage_time(problem, whole, 2).total().total().value(), 1e-12));
  const auto load = operators.load(whole.operators), expected = cost::stage_load(problem, whole);
  CHECK(load.parameters == expected.parameters);
  CHECK(load.activations == expected.activations);
  CHECK(load.workspace == expected.workspace);
}

TEST_CASE("sharded operators: one by one they hold what the whole model does, copies included") {
  int copied = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    CAPTURE(seed);
    core::Random random(seed);
    const auto graph = random_model(random);
    const auto cluster = support::tiny_cluster(4);
    const cost::AnalyticCosts costs;
    const cost::Problem problem{graph, cluster, costs, {8}};
    const planners::ShardedOperators operators(problem, 4);
    const auto whole = stage(0, graph.size(), 4);
    core::Bytes sum;
    for (const OpId& id : whole.operators) sum += operators.load({&id, 1}).activations;
    CHECK(sum == cost::stage_load(problem, whole).activations);
    copied += !layout::infer(graph, whole).copies.empty();
  }
  CHECK(copied > 20);
}
