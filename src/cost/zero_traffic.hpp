#pragma once
// Private to the room: what ZeRO moves of one operator in every micro-batch.

#include <map>

#include "penstock/cost/sharding.hpp"

namespace penstock::cost {

/// On the device of a tensor-parallel group that has the largest part.
struct ZeroTraffic {
  core::Bytes gathered;   ///< weights, those that do not train among them
  core::Bytes scattered;  ///< gradients, as they are sent
  layout::GroupScope among = layout::GroupScope::sharers;
};

/// Bytes of gradients that replicas send for so many bytes of a stage's weights, in the precision in which the framework
/// reduces them (FrameworkMemory::sends_as_weights).
core::Bytes sent_gradients(const Problem& problem, const plan::Stage& stage, core::Bytes weights);

/// Bytes of an operator's weights once gathered, or of their gradients before they are scattered: with the padding
/// of parts of whole experts.
core::Bytes gathered_weights(const Problem& local, const plan::Stage& stage, core::OpId id,
                             core::Bytes weights);

/// With ZeRO 2 gradients are scattered, with ZeRO 3 weights are gathered besides. `local`: the stage's
/// LocalProblem, whose experts are those of one device.
ZeroTraffic zero_traffic(const Problem& local, const plan::Stage& stage, core::OpId op, plan::Partition how);

/// True if a backward pass gathers an operator's weights: not those of a layer that it has just computed
/// again.
bool gathers_backward(const plan::Stage& stage, bool computed_again);

}  // namespace penstock::cost
