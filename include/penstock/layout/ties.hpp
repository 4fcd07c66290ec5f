#pragma once
// Tied parameters: those that several operators use are sharded once, and their gradients are summed once.

#include <string>
#include <vector>

#include "penstock/layout/infer.hpp"

namespace penstock::layout {

/// Part of an operator's parameters and gradients that a device of a group holds.
struct ParameterShard {
  std::optional<WeightAxis> axis;  ///< axis of the shard; none: all parameters
  /// Placement of the gradient's terms. Replicated: each device has the whole gradient. Sharded: it has the
  /// gradient of its own samples or tokens, which must be summed.
  Placement terms = Placement::replicate;
  friend bool operator==(const ParameterShard&, const ParameterShard&) = default;
};
ParameterShard holding(const graph::Operator& op, plan::Partition how);

/// Violations in words, for operators of one stage, or of stages that share devices, that use the same
/// parameters. They must be sharded along the same axis, because a device holds one shard. Their gradients
/// must have the same terms (Holding::terms): a sum over the group would count a gradient that is complete on
/// each device once per device.
std::vector<std::string> tie_violations(const graph::OpGraph& graph, const plan::Plan& plan);

/// Axis along which the stage shards the owner's parameters, given by the first of its operators that uses
/// them; nothing if every device has all of them.
std::optional<WeightAxis> weight_axis(const graph::OpGraph& graph, const plan::Stage& stage,
                                      core::OpId owner);

}  // namespace penstock::layout
