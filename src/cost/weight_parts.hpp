#pragma once
// Private to the room: how a stage's weights are divided over a tensor-parallel group.

#include <map>

#include "penstock/cost/sharding.hpp"

namespace penstock::cost {

/// Bytes of so much of them, rounded up.
core::Bytes rounded_up(core::Bytes all, double part);

/// Weights of an operator on the device that has this part of what is divided.
core::Bytes weights_of(const graph::OpGraph& graph, core::OpId id, plan::Partition how, double part);
/// Bytes of weights that do not train.
core::Bytes frozen_of(const graph::OpGraph& graph, core::OpId id, plan::Partition how, double part);

std::map<core::OpId, plan::Partition> partitions(const plan::Stage& stage,
                                                 const layout::StageLayout& divided);

/// In a stage without tensor parallelism every operator is whole.
plan::Partition partition_of(const std::map<core::OpId, plan::Partition>& how, core::OpId id);

}  // namespace penstock::cost
