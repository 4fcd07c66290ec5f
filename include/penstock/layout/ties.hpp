#pragma once
// Parameters that several operators use are sharded once.

#include <string>
#include <vector>

#include "penstock/layout/infer.hpp"

namespace penstock::layout {

/// Violations in words: operators of one stage, or of stages that share devices, that use the same parameters
/// and want shards of them along different axes, or one of them all. A device has one shard: the other one
/// would have to be made anew in every pass.
std::vector<std::string> tie_violations(const graph::OpGraph& graph, const plan::Plan& plan);

/// The axis along which the stage shards the owner's parameters, by the first of its operators that uses
/// them; nothing where every device has all of them.
std::optional<WeightAxis> weight_axis(const graph::OpGraph& graph, const plan::Stage& stage,
                                      core::OpId owner);

}  // namespace penstock::layout
