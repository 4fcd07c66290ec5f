#pragma once
// Expert parallelism: the experts of a stage divided over replicas, which exchange the rows that these take.

#include <string>
#include <vector>

#include "penstock/graph/op_graph.hpp"
#include "penstock/layout/convert.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::layout {

/// Devices that have all experts of a stage between them: as many replicas' as the stage divides experts
/// over, and of these, context groups first, those that follow each other, as Megatron-LM's "tp-cp-ep-dp". In
/// the order of their experts.
std::vector<std::vector<core::DeviceId>> expert_groups(const plan::Stage& stage);

/// Devices that hold the same experts.
std::vector<std::vector<core::DeviceId>> expert_replicas(const plan::Stage& stage);

/// One device's part of a mixture, where `parallel` devices divide its experts: as many rows as before, of
/// all of them, for fewer experts. On the fullest device, whose rows are `imbalance` times the mean.
graph::Operator expert_shard(const graph::Operator& op, int parallel, double imbalance);

/// The model as the fullest device of an expert group computes it.
graph::OpGraph expert_graph(const graph::OpGraph& graph, int parallel, double imbalance);

/// Bytes of a mixture's copied rows, per sample: what its experts are sent, and what they send back.
core::Bytes copied_rows(const graph::Operator& op, int element_bytes);

/// A mixture's rows on their way to their experts and back, and their gradients likewise unless they stop
/// here: all of a group's devices with as many `rows`, bytes per sample, as the fullest, which has the
/// stage's imbalance times the mean. Every member of a tensor-parallel group exchanges all rows, as its part
/// of every expert needs all of them.
Collectives expert_collectives(core::OpId op, core::Bytes rows, const plan::Stage& stage, bool backward);

/// Violations in words, operator by operator: experts that the stage's groups do not divide.
std::vector<std::string> expert_violations(const graph::OpGraph& graph, const plan::Plan& plan);

}  // namespace penstock::layout
