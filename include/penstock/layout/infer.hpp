#pragma once
// The placement of every tensor of a stage, and the collectives between them.

#include <map>
#include <vector>

#include "penstock/layout/convert.hpp"

namespace penstock::layout {

/// A tensor in another placement than its stage keeps it in, for the operators that read it so.
struct TensorCopy {
  core::OpId tensor;
  Placement placement;
  std::vector<core::OpId> readers;  ///< ascending
};

/// Placements of a stage's tensors, by position in Stage::operators.
struct StageLayout {
  std::vector<plan::Partition> partition;
  GroupCollectives collectives;
  /// By operator: inputs whose gradient is complete after this operator's backward pass. Every device has
  /// partial sums of a gradient, and the group adds them up once. Backward passes run in reverse order, so
  /// the first reader adds the last term.
  std::map<core::OpId, std::vector<core::OpId>> completes;
  /// Copies of tensors in further placements: one per tensor and placement, ascending. Every device holds its
  /// shard of a copy until the backward pass, in addition to its shard of the tensor. A product needs its
  /// input as it read it, and PyTorch's autograd saves it so. Tensors of other stages count whole. A shard of
  /// a replicated tensor is a copy too, because DTensor clones it; a view would do if samples are divided.
  /// Differs from PyTorch: a reader whose backward pass does not need its input keeps a copy too, here and in
  /// a replay. A table divided by rows reads all ids. With sequence parallelism, tensors gathered by tokens
  /// are no copies.
  std::vector<TensorCopy> copies;
  /// Tensors of the stage divided by tokens, which products gather whole and need whole for the gradient of
  /// their weights: one each, ascending. A framework gathers them again or saves them (cluster::FrameworkRuntime).
  std::vector<TensorCopy> gathered;
};

/// True if devices keep their own tokens before and after a mixture that their group divides by columns.
/// Experts of other devices then get rows of these tokens only (Megatron-LM's all-to-all dispatcher).
bool sends_own_tokens(const plan::Stage& stage, plan::Partition how);

/// Rule of an operator in a stage: rule(op, how), except for mixtures that keep tokens apart.
PlacementRule stage_rule(const graph::Operator& op, plan::Partition how, const plan::Stage& stage);

/// Infers the layout of a stage. Without a choice in the plan, Megatron-LM's rule applies (Shoeybi et al.,
/// 2019, section 3). A matrix is divided by columns if its input is replicated, by rows if it is sharded;
/// attention by heads; an embedding by its vocabulary. Experts are divided by columns, or by tokens if they are
/// whole. A router is on all devices. Operators without weights follow their inputs, and
/// operators without a sharded input run whole on every device.
/// Sequence parallelism divides whole operators by tokens and reduce-scatters partial sums by tokens. An
/// operator that needs a replicated tensor all-gathers it; both halves together move the bytes of an
/// all-reduce (Korthikanti et al., MLSys 2023, section 4.2.2). A product's second
/// gather of its input (StageLayout::gathered) is none of the collectives. It runs beside the product of the
/// input's gradient, and takes no time.
/// A group with more devices than heads of keys and values divides the projections evenly. It gathers queries,
/// keys and values before the core, and scatters their gradients (Megatron-LM).
/// Products that read one tensor first add up its gradient and then share one collective, as with DTensor's
/// partial placements or one fused product. Messages between stages carry one shard per device, which is
/// gathered if a replicated tensor is needed (Narayanan et al., SC 2021, section 4.1).
StageLayout infer(const graph::OpGraph& graph, const plan::Stage& stage);

/// Placement of the saved output: `stage_rule(op, how, stage).makes`, except for sums that sequence parallelism scatters
/// by tokens.
Placement saved_placement(const graph::Operator& op, plan::Partition how, const plan::Stage& stage);

}  // namespace penstock::layout
