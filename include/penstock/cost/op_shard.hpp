#pragma once
// What is left of an operator on one device of a tensor-parallel group, as a calibration knows it.

#include <optional>

#include "penstock/cost/calibration.hpp"
#include "penstock/cost/cost_model.hpp"

namespace penstock::cost {

/// The shape an operator's part has by itself; nothing where the shape does not say, as of convolutions'
/// successors that only carry elements along.
std::optional<Shape> divided_shape(const graph::Operator& op, const OpShard& part);

/// work_of, of the part; as AnalyticCosts counts parts.
Work shard_work(const graph::OpGraph& graph, core::OpId op, cluster::Precision precision,
                const OpShard& part);

}  // namespace penstock::cost
