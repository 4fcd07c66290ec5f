#include "penstock/cost/utilisation.hpp"

#include "penstock/graph/work.hpp"

namespace penstock::cost {

cluster::Precision precision_of(const graph::OpGraph& graph, const cluster::DeviceType& device) {
  using cluster::Precision;
  if (graph.element_bytes() >= 4) return Precision::fp32;
  const bool has_bf16 = device.peak[static_cast<std::size_t>(Precision::bf16)].value() > 0;
  return has_bf16 ? Precision::bf16 : Precision::fp16;
}

core::FlopRate peak_rate(const graph::OpGraph& graph, const cluster::Cluster& cluster) {
  core::FlopRate sum;
  for (const cluster::Device& device : cluster.devices()) {
    const cluster::DeviceType& type = cluster.types()[device.type];
    sum += type.peak_rate(precision_of(graph, type));
  }
  return sum;
}

ModelUtilisation utilisation(const graph::OpGraph& graph, const cluster::Cluster& cluster,
                             double samples_per_second) {
  const double done = graph::training_flops(graph).value() * samples_per_second;
  const double peak = peak_rate(graph, cluster).value();
  return {done / static_cast<double>(cluster.size()), peak > 0 ? done / peak : 0};
}

}  // namespace penstock::cost
