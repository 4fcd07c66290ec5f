#pragma once
// One device's shard of an operator in a tensor-parallel group, in the terms of a calibration.

#include <optional>

#include "penstock/cost/calibration.hpp"
#include "penstock/cost/cost_model.hpp"

namespace penstock::cost {

/// Attributes of the shard as an operator of its own. Nothing where the operator's attributes do not suffice,
/// as of convolutions' successors that only carry elements along.
std::optional<graph::Attributes> divided(const graph::Operator& op, const OpShard& part);

/// Work of the shard, as AnalyticCosts counts shards.
KernelWork shard_work(const graph::OpGraph& graph, core::OpId op, cluster::Precision precision,
                      const OpShard& part);

}  // namespace penstock::cost
