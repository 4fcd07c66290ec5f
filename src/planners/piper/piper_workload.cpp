#include "piper/piper_workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "penstock/core/error.hpp"
#include "penstock/cost/profile.hpp"
#include "penstock/score/estimate.hpp"
#include "smallest_memory.hpp"

namespace penstock::planners {
namespace {

using core::OpId;
using graph::Vertex;

using PassTimes = ShardedTimes::OperatorPasses;

PassTimes slowest(const cost::Problem& problem, const std::vector<OpId>& operators, std::int64_t samples) {
  PassTimes out;
  for (const cluster::Device& device : problem.cluster.devices()) {
    const auto& type = problem.cluster.types()[device.type];
    const cost::OpTime time = cost::compute_time(problem, operators, type, samples);
    out.forward = std::max(out.forward, time.forward.value());
    out.total = std::max(out.total, time.total().value());
    if (problem.cluster.types().size() == 1) break;
  }
  return out;
}

/// Degree for micro-batches of `samples`. Memory is counted like score::violations, without what Piper's
/// model lacks.
graph::PiperDegree degree(const cost::Problem& problem, int devices, cost::StageLoad load,
                          const PassTimes& time, std::int64_t samples) {
  load.inputs = load.outputs = core::Bytes(0);
  load.workspace = {};
  const auto bytes = [&](std::int64_t in_flight) {
    const auto memory = cost::stage_memory(load, problem.memory, problem.training, samples, in_flight);
    return static_cast<double>(plan::total(memory).value());
  };
  const double always = bytes(0), activations = bytes(1) - always;
  const double weights = static_cast<double>(load.parameters.value()) * problem.training.sent_per_weight() /
                         problem.training.compression.activations;
  return {devices,
          weights,
          {{"plain", time.total, activations, always},
           {"recomputed", time.total + time.forward, 0, always + activations}}};
}

/// A tensor that a unit reads from another.
struct UnitTensor {
  OpId made, reader;
  graph::Edge units;
};

/// Every tensor, once for each unit that reads it.
std::vector<UnitTensor> tensors(const graph::OpGraph& graph, const UnitGraph& units) {
  std::vector<Vertex> unit_of(graph.size());
  for (std::size_t u = 0; u < units.operators.size(); ++u)
    for (OpId op : units.operators[u]) unit_of[op.index()] = static_cast<Vertex>(u);
  std::set<std::pair<OpId, Vertex>> read;
  for (const auto& [from, to] : graph.dag().edges())
    read.emplace(OpId(static_cast<std::size_t>(from)), unit_of[static_cast<std::size_t>(to)]);
  std::vector<UnitTensor> out;
  for (const auto& [made, unit] : read)
    if (const Vertex from = unit_of[made.index()]; from != unit)
      out.push_back({made, units.operators[static_cast<std::size_t>(unit)].back(), {from, unit}});
  return out;
}

/// Adds the cost of sharded tensors. Devices of a group send and receive one part each; the model expresses
/// seconds as bytes that cross at `bandwidth` both ways.
void add_sharded(graph::PiperEdge& edge, const UnitTensor& tensor, double bytes, const ShardedTimes& times,
                 int devices, double bandwidth) {
  const double parts = bytes / devices - bytes;
  edge.leaving.back() += parts + times.output_time(tensor.made, tensor.reader) * bandwidth / 2;
  edge.entering.back() += parts + times.input_time(tensor.made, tensor.reader) * bandwidth / 2;
}

graph::PiperSetting setting_of(const cost::Problem& problem, std::int64_t samples) {
  constexpr double kNoTraffic = 1e15;  // a single device sends nothing
  const double per_byte = score::assume_network(problem.cluster, problem.training, {1}).link[1].per_byte;
  return {static_cast<int>(problem.cluster.size()),
          static_cast<double>(smallest_memory(problem.cluster).value()),
          per_byte > 0 ? 1 / per_byte : kNoTraffic, static_cast<int>(problem.training.mini_batch / samples)};
}

/// [layer] its unit.
std::vector<Vertex> units_of_layers(const cost::Problem& problem, const UnitGraph& units,
                                    const graph::PiperWorkload& workload) {
  std::map<std::string, std::size_t> number;
  for (std::size_t l = 0; l < workload.layers.size(); ++l) number[workload.layers[l].name] = l;
  std::vector<Vertex> out(workload.layers.size(), -1);
  for (std::size_t u = 0; u < units.operators.size(); ++u)
    for (const OpId op : units.operators[u]) {
      const auto found = number.find(problem.graph.op(op).name);
      if (found == number.end())
        throw core::BadInput("the imported workload has no layer '" + problem.graph.op(op).name + "'");
      out[found->second] = static_cast<Vertex>(u);
    }
  if (units.operators.size() != out.size() || std::ranges::find(out, -1) != out.end())
    throw core::BadInput("the imported workload has other layers than the model");
  return out;
}

/// Number of the layer's degrees (ascending) within the limit.
std::size_t degrees_within(const graph::PiperLayer& layer, int most) {
  return static_cast<std::size_t>(
      std::ranges::count_if(layer.degrees, [&](const auto& degree) { return degree.degree <= most; }));
}

}  // namespace

graph::PiperWorkload imported_workload(const cost::Problem& problem, const UnitGraph& units,
                                       int most_devices) {
  const auto* profile = dynamic_cast<const cost::ProfileCosts*>(&problem.costs);
  if (!profile || !profile->workload())
    throw core::BadInput(
        "piper: costs=imported needs costs with a workload, as penstock import piper-json writes them");
  const graph::PiperWorkload& from = *profile->workload();
  const auto unit = units_of_layers(problem, units, from);
  graph::PiperWorkload out;
  out.setting = setting_of(problem, 1);
  out.layers.resize(from.layers.size());
  for (std::size_t l = 0; l < from.layers.size(); ++l) {
    graph::PiperLayer& layer = out.layers[static_cast<std::size_t>(unit[l])] = from.layers[l];
    layer.degrees.resize(degrees_within(layer, most_devices));
    if (layer.degrees.empty())
      throw core::BadInput(
          fmt::format("layer '{}' does not run on groups of {} devices or fewer", layer.name, most_devices));
  }
  const std::vector<graph::Edge> edges = units.dag.edges();
  const std::set<graph::Edge> known(edges.begin(), edges.end());
  for (graph::PiperEdge edge : from.edges) {
    edge.from = unit[static_cast<std::size_t>(edge.from)];
    edge.to = unit[static_cast<std::size_t>(edge.to)];
    if (!known.contains({edge.from, edge.to}))
      throw core::BadInput("the imported workload has messages between layers that the model does not join");
    edge.leaving.resize(out.layers[static_cast<std::size_t>(edge.from)].degrees.size());
    edge.entering.resize(out.layers[static_cast<std::size_t>(edge.to)].degrees.size());
    out.edges.push_back(std::move(edge));
  }
  return out;
}

graph::PiperWorkload piper_workload(const cost::Problem& problem, const UnitGraph& units,
                                    std::int64_t samples, bool in_row,
                                    std::span<const ShardedOperators> sharded) {
  graph::PiperWorkload out;
  out.setting = setting_of(problem, samples);
  for (const auto& operators : units.operators)
    out.layers.push_back({problem.graph.op(operators.back()).name,
                          {degree(problem, 1, cost::stage_load(problem, operators),
                                  slowest(problem, operators, samples), samples)}});
  std::map<graph::Edge, graph::PiperEdge> edges;
  const auto at = [&](graph::Edge ends) -> graph::PiperEdge& {
    return edges.try_emplace(ends, graph::PiperEdge{ends.first, ends.second, 0, {0}, {0}}).first->second;
  };
  const auto read = tensors(problem.graph, units);
  const auto bytes = [&](const UnitTensor& tensor) {
    return static_cast<double>((problem.graph.op(tensor.made).output_bytes * samples).value());
  };
  for (const UnitTensor& tensor : read) at(tensor.units).bytes += bytes(tensor);
  for (Vertex u = 1; in_row && u < static_cast<Vertex>(units.operators.size()); ++u) at({u - 1, u});
  for (const ShardedOperators& operators : sharded) {
    const ShardedTimes times(operators, samples);
    const int devices = operators.degree();
    for (std::size_t u = 0; u < units.operators.size(); ++u)
      out.layers[u].degrees.push_back(degree(problem, devices, operators.load(units.operators[u]),
                                             times.of(units.operators[u]), samples));
    for (auto& [ends, edge] : edges) edge.leaving.push_back(0), edge.entering.push_back(0);
    for (const UnitTensor& tensor : read)
      add_sharded(at(tensor.units), tensor, bytes(tensor), times, devices, out.setting.bandwidth);
  }
  for (auto& [ends, edge] : edges) out.edges.push_back(std::move(edge));
  return out;
}

}  // namespace penstock::planners
