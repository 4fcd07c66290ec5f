#pragma once
// Collectives of a stage's groups: those that convert one placement into another are a tensor-parallel
// group's.

#include <span>
#include <vector>

#include "penstock/layout/groups.hpp"
#include "penstock/layout/rule.hpp"

namespace penstock::layout {

/// A collective among the devices of every group of one kind, in every micro-batch.
struct GroupCollective {
  enum class Kind : std::uint8_t {
    all_reduce,
    all_gather,  ///< or, the other way, a reduce-scatter: one takes as long as the other
    all_to_all,  ///< every device keeps one part of its part
  };
  Kind kind;
  core::OpId op;        ///< operator whose pass waits for the collective
  core::Bytes bytes;    ///< of the whole tensor: per sample, or of weights in all
  bool before = false;  ///< whether the operator computes with its result, or makes what it moves
  Among among = Among::tensor;

  core::Bytes moved(std::int64_t samples) const { return exchanges_weights(among) ? bytes : bytes * samples; }
};

struct Collectives {
  std::vector<GroupCollective> forward, backward;
  void add(const Collectives& more);
};

/// Collectives that add up an operator's partial sums: of its output, and of the gradient of each of its
/// inputs.
Collectives sums(const graph::OpGraph& graph, core::OpId op, plan::Partition how);
/// The same, of the gradients of these inputs alone.
Collectives sums(const graph::OpGraph& graph, core::OpId op, plan::Partition how,
                 std::span<const core::OpId> inputs);

/// Collectives that convert a tensor placed as `from` for all readers that need it as `to`, of which `reader`
/// is the first: replicated to sharded is free and all-gathers the gradient, sharded to replicated is an
/// all-gather, one axis to another is an all-to-all, and one back for the gradient.
Collectives convert(const graph::OpGraph& graph, core::OpId producer, Placement from, Placement to,
                    core::OpId reader);

}  // namespace penstock::layout
