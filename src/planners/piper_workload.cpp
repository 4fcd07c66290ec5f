#include "piper_workload.hpp"

#include <algorithm>
#include <map>

#include "penstock/score/estimate.hpp"

namespace penstock::planners {
namespace {

using core::OpId;
using graph::Vertex;

struct PassTimes {
  double forward = 0, total = 0;  ///< s
};

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

graph::PiperLayer layer(const cost::Problem& problem, const std::vector<OpId>& operators,
                        std::int64_t samples) {
  cost::StageLoad load = cost::stage_load(problem.graph, operators);
  load.entering = load.leaving = load.working = core::Bytes(0);
  const auto bytes = [&](std::int64_t in_flight) {
    const auto memory =
        cost::stage_memory(load, problem.memory, problem.training.optimizer, samples, in_flight);
    return static_cast<double>(plan::total(memory).value());
  };
  const double always = bytes(0), kept = bytes(1) - always;
  const PassTimes time = slowest(problem, operators, samples);
  const plan::Compression& compression = problem.training.compression;
  const double weights = static_cast<double>(load.parameters.value()) * compression.gradients / compression.activations;
  graph::PiperDegree degree{1, weights, {}};
  degree.configurations = {{"plain", time.total, kept, always},
                           {"recomputed", time.total + time.forward, 0, always + kept}};
  return {problem.graph.op(operators.back()).name, {degree}};
}

/// Bytes per sample of the distinct tensors each unit reads of another.
std::map<graph::Edge, double> tensors(const graph::OpGraph& graph, const Units& units) {
  std::vector<Vertex> unit_of(graph.size());
  for (std::size_t u = 0; u < units.operators.size(); ++u)
    for (OpId op : units.operators[u]) unit_of[op.index()] = static_cast<Vertex>(u);
  std::map<std::pair<OpId, Vertex>, bool> read;
  for (const auto& [from, to] : graph.dag().edges())
    read[{OpId(static_cast<std::size_t>(from)), unit_of[static_cast<std::size_t>(to)]}] = true;
  std::map<graph::Edge, double> out;
  for (const auto& [tensor, unused] : read) {
    const auto& [producer, reader] = tensor;
    const Vertex unit = unit_of[producer.index()];
    if (unit != reader) out[{unit, reader}] += static_cast<double>(graph.op(producer).output_bytes.value());
  }
  return out;
}

}  // namespace

core::Bytes smallest_device(const cluster::Cluster& cluster) {
  core::Bytes least = cluster.type(core::DeviceId(0)).memory;
  for (const auto& device : cluster.devices()) least = std::min(least, cluster.types()[device.type].memory);
  return least;
}

graph::PiperWorkload piper_workload(const cost::Problem& problem, const Units& units, std::int64_t samples,
                                    bool in_row) {
  graph::PiperWorkload out;
  for (const auto& operators : units.operators) out.layers.push_back(layer(problem, operators, samples));
  auto edges = tensors(problem.graph, units);
  for (Vertex u = 1; in_row && u < static_cast<Vertex>(units.operators.size()); ++u)
    edges.try_emplace({u - 1, u}, 0);
  for (const auto& [ends, bytes] : edges)
    out.edges.push_back({ends.first, ends.second, bytes * static_cast<double>(samples), {0}, {0}});
  constexpr double kNoTraffic = 1e15;  // a lone device sends nothing
  const double per_byte = score::assume_network(problem.cluster, problem.training.compression).link[1].per_byte;
  out.setting = {
      static_cast<int>(problem.cluster.size()), static_cast<double>(smallest_device(problem.cluster).value()),
      per_byte > 0 ? 1 / per_byte : kNoTraffic, static_cast<int>(problem.training.mini_batch / samples)};
  return out;
}

}  // namespace penstock::planners
