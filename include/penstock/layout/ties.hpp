#pragma once
// Parameters that several operators use are sharded once, and their gradients summed once.

#include <string>
#include <vector>

#include "penstock/layout/infer.hpp"

namespace penstock::layout {

/// What a device of a group has of an operator's parameters, and of their gradients.
struct Holding {
  std::optional<WeightAxis> axis;          ///< of its shard; nothing: all of them
  Placement terms = Placement::replicate;  ///< of all: sharded where the gradient is that of its own samples
                                           ///< or tokens, a term of what has to be summed
  friend bool operator==(const Holding&, const Holding&) = default;
};
Holding holding(const graph::Operator& op, plan::Partition how);

/// Violations in words: operators of one stage, or of stages that share devices, that use the same parameters
/// and want shards of them along different axes, or one of them all, or have gradients of other samples or
/// tokens. A device has one shard: the other one would have to be made anew in every pass. And one gradient,
/// summed over the group or not: the sum of terms and of what each device has already would count that as
/// often as there are devices, and no sum leaves the terms out.
std::vector<std::string> tie_violations(const graph::OpGraph& graph, const plan::Plan& plan);

/// The axis along which the stage shards the owner's parameters, by the first of its operators that uses
/// them; nothing where every device has all of them.
std::optional<WeightAxis> weight_axis(const graph::OpGraph& graph, const plan::Stage& stage,
                                      core::OpId owner);

}  // namespace penstock::layout
