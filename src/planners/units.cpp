#include "units.hpp"

namespace penstock::planners {

using core::OpId;
using graph::Vertex;

Units planning_units(const graph::OpGraph& graph) {
  std::vector<Vertex> host(graph.size());  // the operator whose unit each operator joins
  for (std::size_t v = 0; v < graph.size(); ++v) {
    const auto readers = graph.dag().successors(static_cast<Vertex>(v));
    const bool joins = graph.op(OpId(v)).kind == graph::OpKind::input && !readers.empty();
    host[v] = joins ? readers.front() : static_cast<Vertex>(v);
  }
  Units units;
  std::vector<Vertex> unit_of(graph.size(), -1);
  for (std::size_t v = 0; v < graph.size(); ++v) {
    if (host[v] != static_cast<Vertex>(v)) continue;
    unit_of[v] = static_cast<Vertex>(units.operators.size());
    units.operators.emplace_back();
  }
  for (std::size_t v = 0; v < graph.size(); ++v) {
    unit_of[v] = unit_of[static_cast<std::size_t>(host[v])];
    units.operators[static_cast<std::size_t>(unit_of[v])].emplace_back(v);
  }
  std::vector<graph::Edge> edges;
  for (const auto& [from, to] : graph.dag().edges()) {
    const Vertex a = unit_of[static_cast<std::size_t>(from)], b = unit_of[static_cast<std::size_t>(to)];
    if (a != b) edges.emplace_back(a, b);
  }
  units.dag = graph::Dag(units.operators.size(), std::move(edges));
  return units;
}

}  // namespace penstock::planners
