#include "penstock/graph/order.hpp"

#include <algorithm>

#include "penstock/core/error.hpp"

namespace penstock::graph {
namespace {

enum class VertexMark : std::uint8_t { unseen, member, outside };

/// The lexicographic successor: the last vertex that may still join joins, and all behind it leave.
bool advance(const Dag& dag, std::vector<bool>& downset) {
  const auto may_join = [&](Vertex v) {
    const auto before = dag.predecessors(v);
    return !downset[v] && std::all_of(before.begin(), before.end(), [&](Vertex p) { return downset[p]; });
  };
  for (auto v = static_cast<Vertex>(dag.size()) - 1; v >= 0; --v) {
    if (may_join(v)) return downset[v] = true;
    downset[v] = false;
  }
  return false;
}

}  // namespace

bool is_convex(const Dag& dag, std::span<const Vertex> set) {
  std::vector<VertexMark> marks(dag.size(), VertexMark::unseen);
  for (Vertex v : set) marks[v] = VertexMark::member;
  const Vertex last = set.empty() ? 0 : *std::max_element(set.begin(), set.end());
  std::vector<Vertex> stack(set.begin(), set.end());
  while (!stack.empty()) {
    const Vertex v = stack.back();
    stack.pop_back();
    for (Vertex to : dag.successors(v)) {
      if (marks[v] == VertexMark::outside && marks[to] == VertexMark::member) return false;
      if (to > last || marks[to] != VertexMark::unseen) continue;
      marks[to] = VertexMark::outside;
      stack.push_back(to);
    }
  }
  return true;
}

std::size_t for_each_downset(const Dag& dag, const DownsetVisitor& visit, std::size_t limit) {
  std::vector<bool> downset(dag.size());
  std::size_t count = 0;
  if (limit == 0) return 0;
  do {
    ++count;
  } while (visit(downset) && count < limit && advance(dag, downset));
  return count;
}

CriticalPath critical_path(const Dag& dag, std::span<const double> weights) {
  core::require(weights.size() == dag.size(), "one weight per vertex");
  if (dag.size() == 0) return {};
  std::vector<double> finish(dag.size());
  std::vector<Vertex> before(dag.size(), -1);
  for (Vertex v = 0; static_cast<std::size_t>(v) < dag.size(); ++v) {
    for (Vertex p : dag.predecessors(v))
      if (before[v] < 0 || finish[p] > finish[before[v]]) before[v] = p;
    finish[v] = weights[v] + (before[v] < 0 ? 0 : finish[before[v]]);
  }
  const auto last = std::max_element(finish.begin(), finish.end());
  CriticalPath path{*last, {}};
  for (auto v = static_cast<Vertex>(last - finish.begin()); v >= 0; v = before[v]) path.vertices.push_back(v);
  std::reverse(path.vertices.begin(), path.vertices.end());
  return path;
}

}  // namespace penstock::graph
