#pragma once
// Collectives within a stage; those that convert one placement into another run in the tensor-parallel group.

#include <span>
#include <vector>

#include "penstock/layout/groups.hpp"
#include "penstock/layout/rule.hpp"

namespace penstock::layout {

/// A collective among the devices of every group of one kind, once per micro-batch.
struct GroupCollective {
  enum class TransferKind : std::uint8_t {
    all_reduce,
    all_gather,  ///< or the reduce-scatter in the other direction: both take equally long
    all_to_all,  ///< every device keeps one part of its shard
  };
  TransferKind kind;
  core::OpId op;        ///< operator whose pass waits for the collective
  core::Bytes bytes;    ///< whole tensor: per sample for activations, in total for weights
  bool before = false;  ///< true: the operator reads its result; false: the operator makes the tensor
  GroupScope among = GroupScope::tensor;
  bool scatters = false;  ///< for an all_gather: it is the reduce-scatter of the same bytes

  core::Bytes moved(std::int64_t samples) const { return exchanges_weights(among) ? bytes : bytes * samples; }
};

struct GroupCollectives {
  std::vector<GroupCollective> forward, backward;
  void add(const GroupCollectives& more);
};

/// Collectives that add up an operator's partial sums: those of its output, and of the gradient of each
/// input.
GroupCollectives sums(const graph::OpGraph& graph, core::OpId op, plan::Partition how);
/// Like the other overload, but only for the gradients of `inputs`.
GroupCollectives sums(const graph::OpGraph& graph, core::OpId op, plan::Partition how,
                      std::span<const core::OpId> inputs);

/// Collectives that convert a tensor from placement `from` to `to`, once for all readers that need `to`;
/// `reader` is the first of them. Replicated to sharded is free, and its gradient is all-gathered. Sharded to
/// replicated is an all-gather. One axis to another is an all-to-all, and another one for the gradient.
GroupCollectives convert(const graph::OpGraph& graph, core::OpId producer, Placement from, Placement to,
                         core::OpId reader);

}  // namespace penstock::layout
