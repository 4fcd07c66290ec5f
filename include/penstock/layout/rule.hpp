#pragma once
// Placements that an operator needs and makes: one rule per kind of operator.

#include <optional>

#include "penstock/graph/op_graph.hpp"
#include "penstock/layout/placement.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::layout {

/// Axis along which a matrix [out, in] or a table [rows, width] is sharded.
enum class WeightAxis : std::uint8_t { first, last };

struct Rule {
  Placement reads = Placement::replicate;  ///< of every input
  Placement makes = Placement::replicate;  ///< of the output, after partial sums are added
  bool partial_output = false;             ///< every device makes a term of the output
  bool partial_input_gradient = false;     ///< every device makes a term of the gradients of the inputs
  std::optional<WeightAxis> weights{};     ///< axis of the shards; none: every device has all weights
};

/// Rule of an operator that is divided in the way `how`. A column-parallel matrix reads a replicated tensor
/// and makes a sharded one; a row-parallel matrix does the opposite. Attention is divided by heads:
/// projections by columns, output by rows. Every expert of a mixture is divided like a feed-forward layer.
/// Element-wise and channel-wise operators read and make shards, and so do scans, by heads, and short
/// convolutions. An operator that a profile gives only by
/// name is treated as a matrix if it has weights. Differs: a table divided by rows reads all ids, whose few
/// bytes count as sharded. A norm of a tensor sharded by features exchanges its statistics at no cost.
/// Batches with fewer samples than devices are rounded up.
Rule rule(const graph::Operator& op, plan::Partition how);

}  // namespace penstock::layout
