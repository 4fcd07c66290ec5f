#include "support/random_problem.hpp"

#include "support/random_graph.hpp"

namespace penstock::support {
namespace {

using core::Bytes;
using core::Random;

graph::Operator random_operator(Random& random, std::size_t number, bool source) {
  // Two to a layer, for plans that recompute layer by layer or share weights.
  graph::Operator op =
      unit_op("layer" + std::to_string(number / 2) + "." + std::string(1, static_cast<char>('a' + number)));
  if (source && random.chance(0.4)) op.kind = graph::OpKind::input;
  op.parameters = op.kind == graph::OpKind::input ? 0 : random.between(0, 9) * 100;
  op.output_bytes = Bytes(random.between(1, 9) * 100);
  op.saved_bytes = op.output_bytes + Bytes(random.between(0, 5) * 100);
  return op;
}

/// A random series-parallel order; half of the time its sinks meet in one more vertex, as in a network with a
/// loss.
graph::Dag random_order(Random& random) {
  const int size = random.between(2, 8);
  const bool joined = random.chance(0.5);
  const graph::Dag dag = test::random_series_parallel(random, joined ? size - 1 : size);
  if (!joined) return dag;
  auto edges = dag.edges();
  for (graph::Vertex v = 0; v + 1 < size; ++v)
    if (dag.successors(v).empty()) edges.emplace_back(v, size - 1);
  return graph::Dag(static_cast<std::size_t>(size), edges);
}

graph::OpGraph random_operators(Random& random) {
  const graph::Dag dag = random_order(random);
  graph::GraphBuilder builder("random");
  for (std::size_t v = 0; v < dag.size(); ++v)
    builder.add(random_operator(random, v, dag.predecessors(static_cast<graph::Vertex>(v)).empty()));
  for (const auto& [from, to] : dag.edges())
    builder.add_edge(core::OpId(static_cast<std::size_t>(from)), core::OpId(static_cast<std::size_t>(to)));
  return builder.build();
}

LaunchCosts random_costs(Random& random, const graph::OpGraph& graph) {
  std::vector<LaunchCosts::PassTime> passes;
  for (const graph::Operator& op : graph.operators()) {
    const bool works = op.kind != graph::OpKind::input;
    passes.push_back(works ? LaunchCosts::PassTime{random.unit(), 0.2 + random.unit()}
                           : LaunchCosts::PassTime{0, 0.01});
  }
  return LaunchCosts(passes);
}

/// Ample, or a random multiple of what an even share of weights and of half the mini-batch takes.
std::int64_t random_memory(Random& random, const graph::OpGraph& graph, std::size_t devices,
                           std::int64_t mini_batch) {
  if (random.chance(1.0 / 3)) return std::int64_t{1} << 40;
  std::int64_t bytes = 0;
  for (const graph::Operator& op : graph.operators())
    bytes += 8 * op.parameters + op.saved_bytes.value() * mini_batch / 2;
  return static_cast<std::int64_t>(static_cast<double>(bytes) * (0.5 + 4 * random.unit()) /
                                   static_cast<double>(devices));
}

}  // namespace

RandomProblem random_problem(std::uint64_t seed) {
  Random random(seed);
  auto graph = random_operators(random);
  auto costs = random_costs(random, graph);
  const auto devices = static_cast<std::size_t>(random.between(1, 5));
  const std::int64_t mini_batch = std::int64_t{4} << random.between(0, 2);
  const std::int64_t memory = random_memory(random, graph, devices, mini_batch);
  const double bandwidth = random.chance(0.5) ? 1e9 : 200 + 2000 * random.unit();
  plan::Training training{mini_batch, plan::Optimizer::momentum};
  training.bucket = core::Bytes(static_cast<std::int64_t>(seed % 4 * 400));
  return {std::move(graph), tiny_cluster(devices, memory, bandwidth, random.unit() / 10), std::move(costs),
          training};
}

}  // namespace penstock::support
