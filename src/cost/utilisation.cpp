#include "penstock/cost/utilisation.hpp"

#include <algorithm>
#include <vector>

#include "penstock/graph/adapters.hpp"
#include "penstock/graph/attention_core.hpp"
#include "penstock/graph/pass.hpp"
#include "penstock/graph/work.hpp"
#include "penstock/plan/mixed_precision.hpp"

namespace penstock::cost {

cluster::Precision precision_of(const graph::OpGraph& graph, const cluster::DeviceType& device) {
  using cluster::Precision;
  if (graph.element_bytes() >= 4) return Precision::fp32;
  const bool has_bf16 = device.peak[static_cast<std::size_t>(Precision::bf16)].value() > 0;
  return has_bf16 ? Precision::bf16 : Precision::fp16;
}

namespace {

/// Model FLOPs of an operator in the format of its products: all but those of attention's core.
double narrow_flops(const graph::Operator& op) {
  if (op.products == graph::ProductFormat::stored) return 0;
  const core::Flops core = op.forward_flops * graph::core_share(op),
                    backward = std::min(core * 2, op.input_gradient_flops);
  const core::Flops all = op.forward_flops + op.input_gradient_flops + op.weight_gradient_flops;
  return std::max(0.0, (all - core - backward - graph::adapter_flops(op) * graph::kPasses).value());
}

}  // namespace

core::FlopRate peak_rate(const graph::OpGraph& graph, const cluster::DeviceType& device) {
  const core::FlopRate stored = device.peak_rate(precision_of(graph, device));
  if (graph.products() == graph::ProductFormat::stored || stored.value() <= 0) return stored;
  double all = 0, seconds = 0;
  for (const graph::Operator& op : graph.operators()) {
    const double flops = graph::model_flops(op).value(), narrow = narrow_flops(op);
    all += flops;
    seconds += (flops - narrow) / stored.value();
    if (narrow > 0) seconds += narrow / device.peak_rate(plan::rate_of(op.products)).value();
  }
  return seconds > 0 ? core::FlopRate(all / seconds) : stored;
}

core::FlopRate peak_rate(const graph::OpGraph& graph, const cluster::Cluster& cluster) {
  std::vector<core::FlopRate> rates;
  for (const cluster::DeviceType& type : cluster.types()) rates.push_back(peak_rate(graph, type));
  core::FlopRate sum;
  for (const cluster::Device& device : cluster.devices()) sum += rates[device.type];
  return sum;
}

ModelUtilisation utilisation(const graph::OpGraph& graph, const cluster::Cluster& cluster,
                             double samples_per_second) {
  const double done = graph::training_flops(graph).value() * samples_per_second;
  const double peak = peak_rate(graph, cluster).value();
  return {done / static_cast<double>(cluster.size()), peak > 0 ? done / peak : 0};
}

}  // namespace penstock::cost
