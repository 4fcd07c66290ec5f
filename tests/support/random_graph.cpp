#include "support/random_graph.hpp"

#include <algorithm>

namespace penstock::test {
using graph::Dag;
using graph::Edge;
using graph::Vertex;

Dag random_dag(core::Random& random, int n, double density) {
  std::vector<Edge> edges;
  for (Vertex u = 0; u < n; ++u)
    for (Vertex w = u + 1; w < n; ++w)
      if (random.chance(density)) edges.emplace_back(u, w);
  return Dag(static_cast<std::size_t>(n), edges);
}

namespace {

/// A composition under way: the vertices nothing in it precedes, and those it precedes nothing with.
struct CompositionEnds {
  std::vector<Vertex> sources, sinks;
};

/// Vertices first..first+n-1; uniform splits keep the recursion logarithmic.
CompositionEnds compose(core::Random& random, Vertex first, int n, double series, std::vector<Edge>& edges) {
  if (n == 1) return {{first}, {first}};
  const int left = random.between(1, n - 1);
  CompositionEnds a = compose(random, first, left, series, edges);
  CompositionEnds b = compose(random, first + left, n - left, series, edges);
  if (random.chance(series)) {
    for (Vertex u : a.sinks)
      for (Vertex w : b.sources) edges.emplace_back(u, w);
    return {a.sources, b.sinks};
  }
  a.sources.insert(a.sources.end(), b.sources.begin(), b.sources.end());
  a.sinks.insert(a.sinks.end(), b.sinks.begin(), b.sinks.end());
  return a;
}

}  // namespace

Dag random_series_parallel(core::Random& random, int n, double series) {
  std::vector<Edge> edges;
  compose(random, 0, n, series, edges);
  return shuffled(random, Dag(static_cast<std::size_t>(n), edges));
}

Dag random_braid(core::Random& random, int n, int width) {
  std::vector<Edge> edges;
  for (Vertex v = width; v < n; ++v) {
    edges.emplace_back(v - width, v);
    if (random.chance(0.3)) edges.emplace_back(random.between(std::max(0, v - 2 * width), v - 1), v);
  }
  return Dag(static_cast<std::size_t>(n), edges);
}

Dag chain(int n) {
  std::vector<Edge> edges;
  for (Vertex v = 1; v < n; ++v) edges.emplace_back(v - 1, v);
  return Dag(static_cast<std::size_t>(n), edges);
}

Dag shuffled(core::Random& random, const Dag& dag) {
  std::vector<Vertex> ready, place(dag.size());
  std::vector<std::size_t> waiting(dag.size());
  for (std::size_t v = 0; v < dag.size(); ++v) {
    waiting[v] = dag.predecessors(static_cast<Vertex>(v)).size();
    if (waiting[v] == 0) ready.push_back(static_cast<Vertex>(v));
  }
  for (Vertex next = 0; !ready.empty(); ++next) {
    std::swap(ready[static_cast<std::size_t>(random.between(0, static_cast<int>(ready.size()) - 1))],
              ready.back());
    const Vertex v = ready.back();
    ready.pop_back();
    place[v] = next;
    for (Vertex to : dag.successors(v))
      if (--waiting[to] == 0) ready.push_back(to);
  }
  std::vector<Edge> edges;
  for (const auto& [u, w] : dag.edges()) edges.emplace_back(place[u], place[w]);
  return Dag(dag.size(), edges);
}

std::vector<double> random_weights(core::Random& random, std::size_t n, int low, int high) {
  std::vector<double> weights(n);
  for (double& weight : weights) weight = random.between(low, high);
  return weights;
}

Reach reachability(const Dag& dag) {
  Reach reach(dag.size(), std::vector<char>(dag.size()));
  for (auto u = static_cast<Vertex>(dag.size()) - 1; u >= 0; --u)
    for (Vertex s : dag.successors(u)) {
      reach[u][s] = 1;
      for (std::size_t w = 0; w < dag.size(); ++w) reach[u][w] |= reach[s][w];
    }
  return reach;
}

}  // namespace penstock::test
