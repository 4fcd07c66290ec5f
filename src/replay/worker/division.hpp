#pragma once
// Part of each operator that one device of a tensor-parallel or context group computes.

#include <map>
#include <optional>

#include "penstock/kernels/wiring.hpp"
#include "penstock/plan/shared_parameters.hpp"
#include "worker/sharding.hpp"

namespace penstock::replay {

/// A device's part of an operator; all of it without a group, or if `whole`.
struct OperatorShard {
  plan::Partition how = plan::Partition::whole;
  graph::Operator op;                 ///< operator that its kernel computes
  std::vector<TensorSharding> reads;  ///< [source of its wire]
  TensorSharding makes;
  /// The output, or the gradients of inputs, are partial sums.
  bool sums_output = false, sums_inputs = false;
  std::vector<core::OpId> completes{};               ///< sources whose gradient sums get their last term here
  std::optional<graph::Operator> after{};            ///< operation applied to the sum of the outputs
  std::vector<kernels::ParameterSlot> parameters{};  ///< in the order of the kernel's slots
  std::vector<TensorSharding> shardings{};           ///< [parameter]
  bool dispatches = false;  ///< a mixture whose experts an expert group divides: the device has some of them
};

/// Division of the operators of a device's stages.
///
/// An expert group divides only the experts of mixtures. A context group divides all operators by tokens
/// (layout::token_shard), and no weights; a stage has groups of one or both kinds.
///
/// Columns of the weights follow from layout::infer, the rule of the simulation; its bytes and layouts
/// correspond to numbers here. The bias of an operator divided by its input belongs to the first device.
class OperatorDivision {
 public:
  /// `wires` belong to the whole graph. Throws BadInput naming the operator if a part has no kernel (layer
  /// norms divided by features, views of a part). Also throws if it has fewer rows, columns, channels or
  /// heads than there are devices, or if operators of a stage that share parameters divide them differently.
  OperatorDivision(const graph::OpGraph& graph, const plan::Plan& plan, core::DeviceId device,
                   const std::vector<kernels::OperatorWiring>& wires);

  std::size_t member() const { return member_; }
  std::size_t members() const { return members_; }
  const std::vector<core::DeviceId>& group() const { return group_; }
  bool has(core::OpId op) const { return parts_.contains(op); }  ///< true if a stage of the device has it
  /// Part of an operator of the device's stages.
  const OperatorShard& shard(core::OpId op) const { return parts_.at(op); }
  /// Devices of its stages, of which `experts` neighbours divide the experts of mixtures; 1: each has all.
  std::size_t number() const { return number_; }
  std::size_t devices() const { return devices_; }
  std::size_t expert_parts() const { return experts_; }
  std::size_t expert_part() const { return number_ % experts_; }

  /// A parameter that an operator of the device has or shares.
  struct WeightShard {
    kernels::Slot whole;
    TensorSharding sharding;
    std::size_t part;  ///< index in the sharding
  };
  const WeightShard& weights(kernels::ParameterRef parameter) const { return weights_.at(parameter); }
  /// True if both devices have the same shard of a parameter, or none: a bias of partial sums belongs to one
  /// device.
  bool divides_as(const OperatorDivision& other, kernels::ParameterRef parameter) const;

 private:
  void add(const graph::OpGraph& graph, const std::vector<kernels::OperatorWiring>& wires,
           const plan::Stage& stage, core::OpId id, plan::Partition how);
  std::size_t member_ = 0, members_ = 1;
  std::size_t number_ = 0, devices_ = 1, experts_ = 1;
  std::vector<core::DeviceId> group_;
  std::map<core::OpId, OperatorShard> parts_;
  std::map<kernels::ParameterRef, WeightShard> weights_;
};

/// Mixtures of the stage whose experts are divided.
std::vector<core::OpId> dispatched(const graph::OpGraph& graph, const plan::Stage& stage);

/// True if devices of equal numbers have equal parts in all the stages.
bool divided_alike(const graph::OpGraph& graph, const plan::Plan& plan, const plan::SharedParameters& shared);

}  // namespace penstock::replay
