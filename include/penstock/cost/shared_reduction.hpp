#pragma once
// The sum of gradients among stages that share parameters.

#include "penstock/cost/sharding.hpp"
#include "penstock/plan/shared_parameters.hpp"

namespace penstock::cost {

/// All devices of all sharing stages are one group. Where tensor parallelism divides the parameters equally
/// in all of them, devices of one position within their groups hold one shard. Then there is one group per
/// position. A schedule without a flush leaves the sum out. ZeRO shares state and memory of a copy among a
/// stage's replicas, yet gradients are summed whole. Planners' closed formulas cover one stage at a time:
/// they count the owner's gradients among the replicas of its own stage, and a copy's not at all. The parts
/// of one colocated stage sum as the stage would, with ZeRO 1 too (cost/sharding.hpp).
GradientReduction shared_reduction(const Problem& problem, const plan::Plan& plan,
                                   const plan::SharedParameters& shared);

}  // namespace penstock::cost
