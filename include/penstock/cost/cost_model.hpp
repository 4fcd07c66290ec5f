#pragma once
// Cost of one operator on one device: the seam every source of timings implements.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "penstock/cluster/cluster.hpp"
#include "penstock/cost/envelope.hpp"
#include "penstock/graph/op_graph.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::cost {

/// Seconds for one pass of one operator over some samples on one device.
struct OpTime {
  core::Seconds forward;
  core::Seconds input_gradient;
  core::Seconds weight_gradient;
  core::Seconds recompute{};  ///< of a stage: what it computes again before its backward pass
  core::Seconds backward() const { return input_gradient + weight_gradient; }
  core::Seconds total() const { return forward + backward() + recompute; }
  friend bool operator==(const OpTime&, const OpTime&) = default;
};

/// One device's part of an operator that a tensor-parallel group shares.
struct OpShard {
  plan::Partition partition = plan::Partition::whole;
  double part = 1;           ///< of the work and the weights, above 0 and at most 1
  bool whole_input = true;   ///< the device reads all of its inputs
  bool whole_output = true;  ///< it writes a tensor of full size
};

/// Memory that an operator's backward passes hold on a device beside gradients of whole tensors.
struct Scratch {
  Line input_gradient, weight_gradient;  ///< while that kernel runs
  Line handed;                           ///< from the one to the other
  friend bool operator==(const Scratch&, const Scratch&) = default;
};

/// Scratch by the shape of an operator. A fused function's argument has a gradient; so have the shares, the
/// context and the projections of attention, and rows copied to experts. Gradients of projections, and those
/// that a norm computes early, are passed on to the weight gradient. Keys and values that others projected
/// are there while the core's gradients are made; so are a scan's states, computed again, and their gradients.
/// No copies in other layouts.
Scratch plain_scratch(const graph::OpGraph& graph, core::OpId op);

/// Samples that fall to a device, at least one of them.
std::int64_t samples_of(std::int64_t samples, double part);

class Crowding;

/// Immutable; safe to call from any thread.
class CostModel {
 public:
  virtual ~CostModel() = default;
  /// `samples` >= 1 on that device. Throws BadInput when the source has no time of the operator.
  virtual OpTime op_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                         std::int64_t samples) const = 0;
  /// Seconds of one device's shard; `samples` are those of the whole group. Default: as many samples as fall
  /// to the device, or the same part of the whole time.
  virtual OpTime part_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                           std::int64_t samples, const OpShard& part) const;
  /// Forward pass of only attention's core in such a shard (graph::has_core). Default: as much of the part's
  /// forward pass as the core's FLOPs are of the operator's.
  virtual core::Seconds core_forward(const graph::OpGraph& graph, core::OpId op,
                                     const cluster::DeviceType& device, std::int64_t samples,
                                     const OpShard& part) const;
  /// The optimizer's update of that many bytes of weights. Default: one kernel that streams
  /// Training::step_traffic at AnalyticConstants::bandwidth_efficiency.
  virtual core::Seconds step_time(core::Bytes weights, const plan::Training& training,
                                  const cluster::DeviceType& device) const;
  /// Scratch of a whole operator. Default: plain_scratch.
  virtual Scratch scratch(const graph::OpGraph& graph, core::OpId op) const;
  /// Measured times of collectives within a node; null: nothing was measured.
  virtual std::shared_ptr<const cluster::CollectiveTimes> collectives() const { return nullptr; }
  /// Part of part_time that kernels spend moving bytes as fast as the device's memory lets them. Default:
  /// none.
  virtual OpTime memory_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                             std::int64_t samples, const OpShard& part) const;
  /// Slowdown that devices of a node cause each other; null where nothing is known of it.
  virtual const Crowding* crowding() const { return nullptr; }
  /// True if times follow an operator's attributes and FLOPs; false where only its name decides them.
  virtual bool goes_by_extents() const { return true; }
  /// True if operators of equal attributes, FLOPs and bytes, that read equal tensors, take equal times. Then
  /// the common work of layers that repeat is done once. Default: no.
  virtual bool equal_of_alike() const { return false; }
  /// The cluster with what the costs add to it: measured collectives within a node, and kernels under
  /// sustained load. Default: only collectives().
  virtual cluster::Cluster completed(const cluster::Cluster& cluster) const;
  /// Source of the times, in a few words for results.
  virtual std::string source() const { return "given"; }
  /// Source of the times on a cluster that is completed(). Default: source().
  virtual std::string source_on(const cluster::Cluster&) const { return source(); }
  /// Names of the types of the cluster's devices that the times are known not to hold for; none: no such
  /// knowledge.
  virtual std::vector<std::string> foreign(const cluster::Cluster& cluster) const;
};

/// CostModel::completed.
cluster::Cluster measured_by(const CostModel& costs, const cluster::Cluster& cluster);

/// The source, and what it is not about: "calibration of NVIDIA H200, foreign to V100".
std::string source_of(const CostModel& costs, const cluster::Cluster& cluster);

}  // namespace penstock::cost
