#pragma once
// Expert parallelism: replicas divide the experts of a stage, and exchange the rows that the experts process.

#include <string>
#include <vector>

#include "penstock/graph/op_graph.hpp"
#include "penstock/layout/convert.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::layout {

/// Expert-parallel groups: the devices of each hold all experts of the stage, in the order of their experts.
/// A group has as many replicas as the stage divides experts over. Its devices follow each other, context
/// groups first, as in Megatron-LM's order "tp-cp-ep-dp". Groups with whole experts have tensor-parallel
/// neighbours before these.
std::vector<std::vector<core::DeviceId>> expert_groups(const plan::Stage& stage);

/// Groups of devices that hold the same experts.
std::vector<std::vector<core::DeviceId>> expert_replicas(const plan::Stage& stage);

/// Returns one device's shard of a mixture whose experts `parallel` devices divide: fewer experts, but rows
/// of all devices, so as many rows as before. Describes the fullest device, with `imbalance` times the mean.
graph::Operator expert_shard(const graph::Operator& op, int parallel, double imbalance);

/// The model as the fullest device of an expert group computes it.
graph::OpGraph expert_graph(const graph::OpGraph& graph, int parallel, double imbalance);

/// Bytes per sample of the rows that a mixture sends to its experts; the experts send back as many.
core::Bytes copied_rows(const graph::Operator& op, int element_bytes);

/// Collectives that send a mixture's rows to their experts and back; with `backward`, also those of their
/// gradients. `rows`: bytes per sample of one tensor-parallel group in the mean. Every device of the group
/// counts as the fullest one, with the stage's imbalance times the mean. With sequence parallelism a device
/// sends the rows of its own tokens (sends_own_tokens). Where tensor parallelism divides experts, the group then gathers the rows
/// that its members received, and reduce-scatters the results (Megatron-LM's all-to-all dispatcher).
/// Otherwise every member exchanges all rows, because its part of every expert needs all of them.
GroupCollectives expert_collectives(core::OpId op, core::Bytes rows, const plan::Stage& stage,
                                    plan::Partition how, bool backward);

/// Violations in words, one per operator: the stage's groups do not divide its experts.
std::vector<std::string> expert_violations(const graph::OpGraph& graph, const plan::Plan& plan);

}  // namespace penstock::layout
