#pragma once
// What one device of a tensor-parallel or context group computes of each operator.

#include <map>
#include <optional>

#include "penstock/kernels/wiring.hpp"
#include "penstock/plan/shared_parameters.hpp"
#include "worker/sharding.hpp"

namespace penstock::replay {

/// A device's part of an operator. Not of a group, or `whole`: all of it.
struct OperatorShard {
  plan::Partition how = plan::Partition::whole;
  graph::Operator op;           ///< what its kernel computes
  std::vector<Sharding> reads;  ///< [source of its wire]
  Sharding makes;
  bool sums_output = false, sums_inputs = false;  ///< the output, the gradients of inputs, are partial sums
  std::vector<core::OpId>
      completes{};  ///< sources: partial sums of their gradients have their last term then
  std::optional<graph::Operator> after{};        ///< what is applied to the sum of the outputs
  std::vector<kernels::Parameter> parameters{};  ///< in the order of the kernel's slots, which they have
  std::vector<Sharding> shardings{};             ///< of the parameters
  bool dispatches = false;  ///< experts that an expert group divides: it has some of them
};

/// An expert group divides the experts of mixtures and nothing else.
///
/// A context group divides all operators by tokens (layout::token_shard), and no weights; a stage has groups
/// of one of both kinds.
///
/// Which columns of the weights follow from layout::infer, the rule that simulation goes by; what is said
/// there of bytes and layouts holds here of numbers. The bias of an operator divided by what it reads is the
/// first device's.
class Division {
 public:
  /// `wires` are of the whole graph. Throws BadInput naming the operator where a part has no kernel (layer
  /// norms divided by features, views of a part), where it has fewer rows, columns, channels or
  /// heads than there are devices, and where operators of a stage that share parameters divide them
  /// differently.
  Division(const graph::OpGraph& graph, const plan::Plan& plan, core::DeviceId device,
           const std::vector<kernels::Wire>& wires);

  std::size_t member() const { return member_; }
  std::size_t members() const { return members_; }
  const std::vector<core::DeviceId>& group() const { return group_; }
  bool has(core::OpId op) const { return parts_.contains(op); }  ///< a stage of the device
  /// Of an operator of the device's stages.
  const OperatorShard& shard(core::OpId op) const { return parts_.at(op); }
  /// Devices of its stages, of which `experts` neighbours divide the experts of mixtures; 1: each has all.
  std::size_t number() const { return number_; }
  std::size_t devices() const { return devices_; }
  std::size_t expert_parts() const { return experts_; }
  std::size_t expert_part() const { return number_ % experts_; }

  /// A parameter that an operator of the device has or shares.
  struct Weights {
    kernels::Slot whole;
    Sharding sharding;
    std::size_t part;  ///< of the sharding
  };
  const Weights& weights(kernels::ParameterRef parameter) const { return weights_.at(parameter); }
  /// Whether both devices have the same shard of a parameter, or none: a bias of partial sums is one
  /// device's.
  bool divides_as(const Division& other, kernels::ParameterRef parameter) const;

 private:
  void add(const graph::OpGraph& graph, const std::vector<kernels::Wire>& wires, const plan::Stage& stage,
           core::OpId id, plan::Partition how);
  std::size_t member_ = 0, members_ = 1;
  std::size_t number_ = 0, devices_ = 1, experts_ = 1;
  std::vector<core::DeviceId> group_;
  std::map<core::OpId, OperatorShard> parts_;
  std::map<kernels::ParameterRef, Weights> weights_;
};

/// Mixtures of the stage that its expert groups divide.
std::vector<core::OpId> dispatched(const graph::OpGraph& graph, const plan::Stage& stage);

/// Whether devices of one number have the same part in all the stages.
bool divided_alike(const graph::OpGraph& graph, const plan::Plan& plan, const plan::SharedParameters& shared);

}  // namespace penstock::replay
