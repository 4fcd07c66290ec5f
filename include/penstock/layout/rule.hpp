#pragma once
// Placements that an operator needs and makes: one rule per kind of operator.

#include <optional>

#include "penstock/graph/op_graph.hpp"
#include "penstock/layout/placement.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::layout {

/// The axis of a matrix [out, in], or of a table [rows, width], that devices have shards of.
enum class WeightAxis : std::uint8_t { first, last };

struct Rule {
  Placement reads = Placement::replicate;  ///< of every input
  Placement makes = Placement::replicate;  ///< of its output, once partial sums are added
  bool partial_output = false;             ///< every device makes a term of the output
  bool partial_input_gradient = false;     ///< and of the gradients of its inputs
  std::optional<WeightAxis> weights{};     ///< nothing: every device has all of them
};

/// Rule of an operator that is divided in that way. A column-parallel matrix reads all and makes a shard, a
/// row-parallel one the other way round; attention is divided by heads: its projections by columns, its
/// output by rows, and so is every expert of a mixture. Element-wise and channel-wise operators read and make
/// shards alike. An operator that a profile knows by name alone is taken for a matrix where it has weights.
/// Differs: a table divided by rows reads all ids, whose few bytes are taken for sharded; a norm of a tensor
/// sharded by features exchanges its statistics for nothing; batches with fewer samples than there are
/// devices round up.
Rule rule(const graph::Operator& op, plan::Partition how);

}  // namespace penstock::layout
