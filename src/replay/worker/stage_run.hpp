#pragma once
// The operators of one stage on one device, and the tensors of its micro-batches in flight.

#include <set>

#include "penstock/plan/plan.hpp"
#include "penstock/schedule/schedule.hpp"
#include "worker/collectives.hpp"
#include "worker/context_attention.hpp"
#include "worker/data_set.hpp"
#include "worker/expert_dispatch.hpp"
#include "worker/segments.hpp"
#include "worker/stage_weights.hpp"

namespace penstock::replay {

/// One micro-batch from its forward pass to the end of its backward pass.
struct InFlight {
  SampleRange samples;
  std::map<core::OpId, Lease> tensors;  ///< outputs of the stage's operators, and received tensors
  std::map<std::pair<core::OpId, TensorSharding>, Lease>
      resharded;                     ///< copies for readers that need another sharding
  std::map<core::OpId, Lease> sums;  ///< sums of partial outputs, if an operation is applied to them
  std::map<core::OpId, std::vector<Lease>> saved, handed;
  std::set<std::size_t> rebuilt;  ///< segments that have been recomputed
  /// Gradients of tensors, sharded as their readers need; sums of the terms so far.
  std::map<core::OpId, std::map<TensorSharding, Lease>> gradients;
  /// Gradients of whole tensors: this device's terms so far, to be summed over its group.
  std::map<core::OpId, Lease> partial;
};

/// Gradients of a tensor are summed in a fixed order. Received ones come by ascending stage, then the stage's
/// own operators' in descending order, by descending slot within one. Gradients of one sharding come before
/// those of the next.
///
/// Devices of a tensor-parallel group compute their shards (division.hpp) and run the collectives listed by
/// layout::infer, which take time in the replay. Stage inputs and outputs are whole on each device:
/// converting between the parts of messages and the shards of tensors takes no time there.
class StageRun {
 public:
  using Tensors = std::map<core::OpId, Lease>;
  /// Gradient terms of tensors that left the stage.
  using Received = std::map<core::OpId, std::vector<Lease>>;

  /// Throws BadInput like the kernels.
  StageRun(DeviceContext& device, const plan::Stage& stage, VersionUse use, std::int64_t mini_batch,
           std::int64_t mini_batches);

  /// Creates kernels, inputs and targets, so that no pass has to.
  void prepare(SampleRange samples);

  void forward(std::int32_t micro_batch, SampleRange samples, Tensors entered, int version);
  /// Recomputes the segment with which the backward pass begins, if it begins in one. The backward pass
  /// recomputes the others in turn.
  void recompute(std::int32_t micro_batch, int version);
  /// `split`: weight gradients run in a separate pass.
  void backward(std::int32_t micro_batch, const Received& received, int version, bool split);
  void weight_gradients(std::int32_t micro_batch, int version);

  /// Results of the last pass for other stages; null if there is none (a gradient of a tensor above which
  /// nothing trains).
  Lease tensor(std::int32_t micro_batch, core::OpId op) const;  ///< whole tensor
  Lease gradient(std::int32_t micro_batch, core::OpId op) const;
  /// Releases, after `pass` and when its results were fetched, everything that no later pass of this stage
  /// needs.
  void let_go(std::int32_t micro_batch, schedule::ActionKind kind);

  /// Time of the collectives by which a group completes stage inputs, or output gradients, received in parts.
  core::Seconds input_time(std::int64_t samples) const { return device_.time(input_collectives_, samples); }
  core::Seconds gradient_time(std::int64_t samples) const {
    return device_.time(gradient_collectives_, samples);
  }
  /// Sums gradients of operators that are divided by samples over the group, after the mini-batch.
  void sum_over_samples(core::Seconds time);
  /// Sums gradients of experts over the devices that have the same ones, after the mini-batch.
  void sum_over_holders(core::Seconds time);

  StageWeights& weights() { return weights_; }
  bool has(core::OpId op) const { return own_.contains(op); }

 private:
  void note_collectives();
  /// Memory kinds of an operator's output and of its internals.
  struct MemoryKinds {
    plan::MemoryKind output, saved;
  };
  void run_forward(InFlight& state, core::OpId id, int version, MemoryKinds kinds);
  void rebuild(InFlight& state, std::size_t segment, int version);
  void drop_rebuilt(InFlight& state, std::size_t segment);
  void drop_read(InFlight& state, core::OpId id);
  void show(InFlight& state, core::OpId id, plan::MemoryKind kind);
  void compute(InFlight& state, core::OpId id, int version, MemoryKinds kinds);
  void apply_after(InFlight& state, core::OpId id, plan::MemoryKind kind);
  void forget_read(InFlight& state, core::OpId id);
  void make_whole(InFlight& state);

  void start_loss(InFlight& state, core::OpId id);
  void keep_loss(core::OpId id, const SampleRange& samples, const kernels::Buffer& gradient);
  void input_gradients(InFlight& state, core::OpId id, int version);
  void show_gradient(InFlight& state, core::OpId id);
  void compute_gradients(InFlight& state, core::OpId id, int version);
  void hand_up(InFlight& state, core::OpId id, const std::vector<Lease>& terms);
  void weight_gradient(InFlight& state, core::OpId id, int version);
  void defer(InFlight& state, core::OpId id);
  void go_before_sum(InFlight& state, core::OpId id);
  void add_up(InFlight& state, core::OpId id);
  void add_term(InFlight& state, core::OpId source, const TensorSharding& sharding, const Lease& term);
  void add_to(Lease& sum, const Lease& term);
  Lease settled(InFlight& state, core::OpId id, const TensorSharding& sharding);
  Lease own_gradient(InFlight& state, core::OpId id);

  bool has_kernel(core::OpId id) const { return kernels::has_kernel(device_.graph.op(id).kind); }
  bool runs_input_gradient(core::OpId id, std::int64_t samples);
  bool weighs(core::OpId id) const { return device_.wire(id).weighs; }
  bool shows_part(core::OpId id) const;
  TensorSharding sharding_of(core::OpId id) const {
    return own_.contains(id) ? device_.shard(id).makes : TensorSharding();
  }
  layout::Placement placement_of(core::OpId id) const;
  TensorExtent extent(const InFlight& state, core::OpId id) const;
  void reshard_input(InFlight& state, core::OpId id, std::size_t slot, plan::MemoryKind kind);
  Lease input(const InFlight& state, core::OpId id, std::size_t slot) const;
  kernels::Kernel& kernel(core::OpId id, std::int64_t samples);  ///< for the stage's samples
  kernels::Operands operands(const InFlight& state, core::OpId id, int version) const;
  void run(kernels::Kernel& kernel, graph::Pass pass, const kernels::Operands& operands, core::OpId id);
  std::vector<Lease> acquire(const std::vector<kernels::Slot>& slots, plan::MemoryKind kind, core::OpId id);
  Lease acquire(const kernels::Slot& slot, plan::MemoryKind kind, core::OpId id);

  DeviceContext& device_;
  plan::Stage stage_;
  std::set<core::OpId> own_, outputs_, unread_;
  StageSegments segments_;
  std::set<std::pair<core::OpId, TensorSharding>>
      kept_;  ///< shardings read by operators that are not recomputed
  /// Source over which it writes; inputs of a segment are needed again.
  std::map<core::OpId, std::size_t> in_place_;
  std::map<core::OpId, core::OpId> last_reader_;  ///< for the stage's own tensors, within it
  std::map<std::pair<core::OpId, TensorSharding>, core::OpId> first_reader_;  ///< of a tensor so sharded
  std::set<core::OpId> packed_;                                               ///< whole only for messages
  std::vector<layout::GroupCollective> input_collectives_, gradient_collectives_;
  std::optional<ContextGroup> context_;
  std::map<std::pair<core::OpId, std::int64_t>, ContextAttention> attentions_;  ///< [operator, samples]
  std::map<std::pair<core::OpId, std::int64_t>, ExpertDispatch> dispatches_;    ///< [operator, samples]
  StageWeights weights_;
  DataSet data_;
  std::int64_t mini_batch_, mini_batches_;  ///< samples; mini-batches of a program
  std::map<std::pair<core::OpId, std::int64_t>, std::int64_t>
      seen_;  ///< number of losses of the operator at that sample
  std::map<std::int32_t, InFlight> in_flight_;
};

}  // namespace penstock::replay
