#pragma once
// The placement of every tensor of a stage, and the collectives between them.

#include <map>
#include <vector>

#include "penstock/layout/convert.hpp"

namespace penstock::layout {

/// Placements of a stage's tensors, by position in Stage::operators.
struct StageLayout {
  std::vector<plan::Partition> partition;
  Collectives collectives;
  /// By operator: the inputs of whose gradients its backward pass makes the last term. Terms of one gradient
  /// are partial sums on every device, and the group adds them up together, once: backward passes run against
  /// the order, so that the first reader is the last to make a term.
  std::map<core::OpId, std::vector<core::OpId>> completes;
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
