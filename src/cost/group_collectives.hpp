#pragma once
// Private to the room: what operators of a stage exchange in its groups, in every micro-batch.

#include <map>

#include "penstock/cost/sharding.hpp"

namespace penstock::cost {

/// Collectives of all groups that wait for no layer: those of tensor-parallel groups, keys and values that
/// attentions gather or trade within context groups (cost/context.hpp), and rows on their way to experts and
/// back (cost/expert_exchange.hpp), all of a group's devices with as many rows as the fullest one. Those of
/// one operator in the order in which its pass runs them. What runs along with operators is left out: hops of
/// ring attention, and what ZeRO moves (zero_traffic.hpp).
layout::Collectives group_collectives(const Problem& whole, const Problem& local, const plan::Stage& stage,
                                      const std::map<core::OpId, plan::Partition>& how);

}  // namespace penstock::cost
