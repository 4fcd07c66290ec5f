#include "penstock/cost/cost_model.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "penstock/cost/analytic.hpp"
#include "penstock/graph/attention_core.hpp"

namespace penstock::cost {

std::int64_t samples_of(std::int64_t samples, double part) {
  return std::clamp<std::int64_t>(
      static_cast<std::int64_t>(std::ceil(static_cast<double>(samples) * part - 1e-9)), 1, samples);
}

OpTime CostModel::part_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                            std::int64_t samples, const OpShard& part) const {
  if (part.partition == plan::Partition::whole) return op_time(graph, op, device, samples);
  if (part.partition == plan::Partition::batch)
    return op_time(graph, op, device, samples_of(samples, part.part));
  const OpTime whole = op_time(graph, op, device, samples);
  return {whole.forward * part.part, whole.input_gradient * part.part, whole.weight_gradient * part.part};
}

core::Seconds CostModel::core_forward(const graph::OpGraph& graph, core::OpId op,
                                      const cluster::DeviceType& device, std::int64_t samples,
                                      const OpShard& part) const {
  return part_time(graph, op, device, samples, part).forward * graph::core_share(graph.op(op));
}

core::Seconds CostModel::step_time(core::Bytes weights, const plan::Training& training,
                                   const cluster::DeviceType& device) const {
  const core::Bandwidth rate = device.memory_bandwidth * AnalyticConstants{}.bandwidth_efficiency;
  return device.launch_overhead + training.step_traffic(weights) / rate;
}

BackwardScratch CostModel::scratch(const graph::OpGraph& graph, core::OpId op) const {
  return plain_scratch(graph, op);
}

OpTime CostModel::memory_time(const graph::OpGraph&, core::OpId, const cluster::DeviceType&, std::int64_t,
                              const OpShard&) const {
  return {};
}

std::vector<std::string> CostModel::foreign(const cluster::Cluster&) const {
  return {};
}

cluster::Cluster CostModel::completed(const cluster::Cluster& cluster) const {
  auto known = collectives();
  return known == nullptr ? cluster : cluster.measured_by(std::move(known));
}

cluster::Cluster measured_by(const CostModel& costs, const cluster::Cluster& cluster) {
  return costs.completed(cluster);
}

std::string source_of(const CostModel& costs, const cluster::Cluster& cluster) {
  const auto foreign = costs.foreign(cluster);
  return costs.source_on(cluster) +
         (foreign.empty() ? "" : fmt::format(", foreign to {}", fmt::join(foreign, ", ")));
}

}  // namespace penstock::cost
