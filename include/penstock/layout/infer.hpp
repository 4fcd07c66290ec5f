#pragma once
// The placement of every tensor of a stage, and the collectives between them.

#include <map>
#include <vector>

#include "penstock/layout/convert.hpp"

namespace penstock::layout {

/// A tensor in another placement than its stage has it in, for the operators that read it so.
struct Copy {
  core::OpId tensor;
  Placement placement;
  std::vector<core::OpId> readers;  ///< ascending
};

/// Placements of a stage's tensors, by position in Stage::operators.
struct StageLayout {
  std::vector<plan::Partition> partition;
  Collectives collectives;
  /// By operator: the inputs of whose gradients its backward pass makes the last term. Terms of one gradient
  /// are partial sums on every device, and the group adds them up together, once: backward passes run against
  /// the order, so that the first reader is the last to make a term.
  std::map<core::OpId, std::vector<core::OpId>> completes;
  /// One per tensor and placement, ascending. Every device holds its part of them for the backward pass,
  /// beside what it has of the tensors: a product needs its input once more as it read it, and PyTorch's
  /// autograd saves it so. Tensors of other stages are whole. A shard of a replicated tensor is a copy too,
  /// as DTensor clones it and as a replay has it, though where samples are divided a view would do. Differs:
  /// a reader whose backward pass has no use for its input keeps a copy too, as it keeps what it reads where
  /// it lies, and so does a replay. A table divided by rows reads all ids. With sequence parallelism what is
  /// gathered by tokens is gathered anew for the backward pass, and no copy.
  std::vector<Copy> copies;
};

/// Infers the layout of a stage. Where the plan is silent, by Megatron-LM's rule (Shoeybi et al., 2019,
/// section 3): a matrix is divided by columns where its input is replicated and by rows where it comes
/// sharded, attention by heads, an embedding by its vocabulary, and operators without weights follow their
/// inputs; operators without a sharded input run whole on every device. With sequence parallelism these are
/// divided by tokens, partial sums are reduce-scattered by tokens, and an operator that needs a replicated
/// tensor all-gathers it: an all-reduce's bytes in two halves (Korthikanti et al., MLSys 2023, section 4.2.2;
/// differs: that a product's input comes together once more for its weight gradient, which travels behind the
/// input's gradient). Products that read one tensor add up its gradient first and share one collective, as
/// DTensor's partial placements do, and as it is where they are one fused product. Messages between stages
/// carry one shard per device, gathered where a replicated tensor is needed (Narayanan et al., SC 2021,
/// section 4.1).
StageLayout infer(const graph::OpGraph& graph, const plan::Stage& stage);

/// Placement of the saved output: `rule(op, how).makes`, but for sums that sequence parallelism scatters by
/// tokens.
Placement saved_placement(const graph::Operator& op, plan::Partition how, const plan::Stage& stage);

}  // namespace penstock::layout
