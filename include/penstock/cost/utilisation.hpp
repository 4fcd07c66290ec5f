#pragma once
// Best rates that devices could reach, against which training is compared.

#include "penstock/cluster/cluster.hpp"
#include "penstock/graph/op_graph.hpp"

namespace penstock::cost {

/// Precision of the graph's numbers. Two-byte numbers run at the bf16 rate, or the fp16 rate of a device
/// without bf16; four-byte ones at the fp32 rate (tf32 rounds, and is never assumed).
cluster::Precision precision_of(const graph::OpGraph& graph, const cluster::DeviceType& device);

/// Rate at which a device multiplies the model's FLOPs (graph::model_flops), by its data sheet. That of the graph's
/// precision; where layers multiply in a narrower format, the harmonic mean with the rate of that format.
core::FlopRate peak_rate(const graph::OpGraph& graph, const cluster::DeviceType& device);
/// The sum over all devices of the cluster.
core::FlopRate peak_rate(const graph::OpGraph& graph, const cluster::Cluster& cluster);

/// How fast a model is trained.
struct ModelUtilisation {
  double flops_per_device = 0;  ///< model FLOPs (graph::training_flops) a second and device
  double mfu = 0;  ///< model FLOPs utilisation: their share of the peak. Recomputation counts as no work
                   ///< (Chowdhery et al., PaLM, 2022, appendix B)
};
/// Zero where the graph's FLOPs, or the devices' peak, are not known.
ModelUtilisation utilisation(const graph::OpGraph& graph, const cluster::Cluster& cluster,
                             double samples_per_second);

}  // namespace penstock::cost
