#include "units.hpp"

#include <algorithm>

#include "penstock/core/error.hpp"
#include "penstock/plan/layer_row.hpp"

namespace penstock::planners {

using core::OpId;
using graph::Vertex;

namespace {

graph::Dag dag_of(const graph::OpGraph& graph, std::size_t units, const std::vector<Vertex>& unit_of) {
  std::vector<graph::Edge> edges;
  for (const auto& [from, to] : graph.dag().edges()) {
    const Vertex a = unit_of[static_cast<std::size_t>(from)], b = unit_of[static_cast<std::size_t>(to)];
    if (a != b) edges.emplace_back(a, b);
  }
  return graph::Dag(units, std::move(edges));
}

}  // namespace

UnitGraph planning_units(const graph::OpGraph& graph) {
  std::vector<Vertex> host(graph.size());  // operator whose unit each operator joins
  for (std::size_t v = 0; v < graph.size(); ++v) {
    const auto readers = graph.dag().successors(static_cast<Vertex>(v));
    const bool joins = graph.op(OpId(v)).kind == graph::OpKind::input && !readers.empty();
    host[v] = joins ? readers.front() : static_cast<Vertex>(v);
  }
  UnitGraph units;
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
  units.dag = dag_of(graph, units.operators.size(), unit_of);
  return units;
}

UnitGraph layer_units(const graph::OpGraph& graph) {
  const auto read = plan::layer_row(graph);
  if (const auto* why = std::get_if<std::string>(&read)) throw core::BadInput("units=layers: " + *why);
  const auto& row = std::get<plan::LayerRow>(read);
  std::vector<std::vector<OpId>> parts(static_cast<std::size_t>(row.parts()));
  for (std::size_t v = 0; v < graph.size(); ++v)
    parts[static_cast<std::size_t>(row.part_of[v])].emplace_back(v);
  UnitGraph units;
  std::vector<Vertex> unit_of(graph.size());
  for (auto& part : parts) {
    if (part.empty()) continue;  // no operators before the first layer, or behind the last
    for (const OpId op : part) unit_of[op.index()] = static_cast<Vertex>(units.operators.size());
    units.operators.push_back(std::move(part));
  }
  units.dag = dag_of(graph, units.operators.size(), unit_of);
  return units;
}

}  // namespace penstock::planners
