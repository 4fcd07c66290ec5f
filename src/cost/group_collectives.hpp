#pragma once
// Private to the room: what operators of a stage exchange in its groups, in every micro-batch.

#include <map>

#include "penstock/cost/sharding.hpp"

namespace penstock::cost {

/// Collectives of all groups that wait for no layer: tensor-parallel (layout::infer), context and expert
/// groups. Those of one operator in the order in which its pass runs them: what makes it fit for other
/// groups outside of what it does in its own. What runs along with operators is left out: hops of ring
/// attention (context.hpp), and what ZeRO moves (zero_traffic.hpp).
layout::GroupCollectives group_collectives(const Problem& whole, const Problem& local,
                                           const plan::Stage& stage,
                                           const std::map<core::OpId, plan::Partition>& how);

}  // namespace penstock::cost
