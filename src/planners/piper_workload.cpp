#include "piper_workload.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "penstock/score/estimate.hpp"
#include "smallest_memory.hpp"

namespace penstock::planners {
namespace {

using core::OpId;
using graph::Vertex;

using PassTimes = ShardedTimes::Passes;

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

/// Micro-batches of `samples`; memory as score::faults counts it, but for what Piper's model has no place
/// for.
graph::PiperDegree degree(const cost::Problem& problem, int devices, cost::StageLoad load,
                          const PassTimes& time, std::int64_t samples) {
  load.entering = load.leaving = core::Bytes(0);
  load.workspace = {};
  const auto bytes = [&](std::int64_t in_flight) {
    const auto memory =
        cost::stage_memory(load, problem.memory, problem.training.optimizer, samples, in_flight);
    return static_cast<double>(plan::total(memory).value());
  };
  const double always = bytes(0), kept = bytes(1) - always;
  const plan::Compression& compression = problem.training.compression;
  const double weights =
      static_cast<double>(load.parameters.value()) * compression.gradients / compression.activations;
  return {devices,
          weights,
          {{"plain", time.total, kept, always}, {"recomputed", time.total + time.forward, 0, always + kept}}};
}

/// What a unit reads of another.
struct Tensor {
  OpId made, reader;
  graph::Edge units;
};

/// Every tensor once for each unit that reads it.
std::vector<Tensor> tensors(const graph::OpGraph& graph, const Units& units) {
  std::vector<Vertex> unit_of(graph.size());
  for (std::size_t u = 0; u < units.operators.size(); ++u)
    for (OpId op : units.operators[u]) unit_of[op.index()] = static_cast<Vertex>(u);
  std::set<std::pair<OpId, Vertex>> read;
  for (const auto& [from, to] : graph.dag().edges())
    read.emplace(OpId(static_cast<std::size_t>(from)), unit_of[static_cast<std::size_t>(to)]);
  std::vector<Tensor> out;
  for (const auto& [made, unit] : read)
    if (const Vertex from = unit_of[made.index()]; from != unit)
      out.push_back({made, units.operators[static_cast<std::size_t>(unit)].back(), {from, unit}});
  return out;
}

/// Devices of a group send and receive one part each; the model takes seconds as bytes that cross at
/// `bandwidth` both ways.
void add_sharded(graph::PiperEdge& edge, const Tensor& tensor, double bytes, const ShardedTimes& times,
                 int devices, double bandwidth) {
  const double parts = bytes / devices - bytes;
  edge.leaving.back() += parts + times.leaving(tensor.made) * bandwidth / 2;
  edge.entering.back() += parts + times.entering(tensor.made, tensor.reader) * bandwidth / 2;
}

}  // namespace

graph::PiperWorkload piper_workload(const cost::Problem& problem, const Units& units, std::int64_t samples,
                                    bool in_row, std::span<const ShardedOperators> sharded) {
  graph::PiperWorkload out;
  constexpr double kNoTraffic = 1e15;  // a lone device sends nothing
  const double per_byte =
      score::assume_network(problem.cluster, problem.training.compression).link[1].per_byte;
  out.setting = {
      static_cast<int>(problem.cluster.size()), static_cast<double>(smallest_memory(problem.cluster).value()),
      per_byte > 0 ? 1 / per_byte : kNoTraffic, static_cast<int>(problem.training.mini_batch / samples)};
  for (const auto& operators : units.operators)
    out.layers.push_back({problem.graph.op(operators.back()).name,
                          {degree(problem, 1, cost::stage_load(problem, operators),
                                  slowest(problem, operators, samples), samples)}});
  std::map<graph::Edge, graph::PiperEdge> edges;
  const auto at = [&](graph::Edge ends) -> graph::PiperEdge& {
    return edges.try_emplace(ends, graph::PiperEdge{ends.first, ends.second, 0, {0}, {0}}).first->second;
  };
  const auto read = tensors(problem.graph, units);
  const auto bytes = [&](const Tensor& tensor) {
    return static_cast<double>((problem.graph.op(tensor.made).output_bytes * samples).value());
  };
  for (const Tensor& tensor : read) at(tensor.units).bytes += bytes(tensor);
  for (Vertex u = 1; in_row && u < static_cast<Vertex>(units.operators.size()); ++u) at({u - 1, u});
  for (const ShardedOperators& operators : sharded) {
    const ShardedTimes times(operators, samples);
    const int devices = operators.degree();
    for (std::size_t u = 0; u < units.operators.size(); ++u)
      out.layers[u].degrees.push_back(degree(problem, devices, operators.load(units.operators[u]),
                                             times.of(units.operators[u]), samples));
    for (auto& [ends, edge] : edges) edge.leaving.push_back(0), edge.entering.push_back(0);
    for (const Tensor& tensor : read)
      add_sharded(at(tensor.units), tensor, bytes(tensor), times, devices, out.setting.bandwidth);
  }
  for (auto& [ends, edge] : edges) out.edges.push_back(std::move(edge));
  return out;
}

}  // namespace penstock::planners
