#pragma once
// The operators of one stage on one device, and what its micro-batches in flight hold.

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
  Samples samples;
  std::map<core::OpId, Lease> tensors;  ///< what operators of the stage made, and what entered it
  std::map<std::pair<core::OpId, Sharding>, Lease>
      resharded;                     ///< the same for readers that need them sharded otherwise
  std::map<core::OpId, Lease> sums;  ///< of parts of outputs, where something is applied to them
  std::map<core::OpId, std::vector<Lease>> saved, handed;
  std::set<std::size_t> rebuilt;  ///< segments that have been computed again
  /// Of tensors, as their readers have them sharded; sums of the terms that have come so far.
  std::map<core::OpId, std::map<Sharding, Lease>> gradients;
  /// Of whole tensors: terms of this device so far, to be added up over its group.
  std::map<core::OpId, Lease> partial;
};

/// Gradients of a tensor are summed in a fixed order: those received by ascending stage, then the stage's own
/// operators' in falling order, by falling slot within one; those of one sharding before those of the next.
///
/// Devices of a tensor-parallel group compute their shards (division.hpp) and run the collectives that
/// layout::infer lists, which take their time in the replay. Stage inputs and outputs are whole on each
/// device: converting between the parts of messages and the shards of tensors takes no time there.
class StageRun {
 public:
  using Tensors = std::map<core::OpId, Lease>;
  using Received = std::map<core::OpId, std::vector<Lease>>;  ///< terms of gradients of what left the stage

  /// Throws BadInput as the kernels do.
  StageRun(Device& device, const plan::Stage& stage, VersionUse use, std::int64_t mini_batch,
           std::int64_t mini_batches);

  /// Makes kernels, inputs and targets, so that no pass has to.
  void prepare(Samples samples);

  void forward(std::int32_t micro_batch, Samples samples, Tensors entered, int version);
  /// The segment that the backward pass begins with, which computes the others when their turn has come.
  void recompute(std::int32_t micro_batch, int version);
  /// `split`: the weight gradients are left to a pass of their own.
  void backward(std::int32_t micro_batch, const Received& received, int version, bool split);
  void weight_gradients(std::int32_t micro_batch, int version);

  /// What the last pass made for other stages; null where there is none (a gradient of a tensor at and above
  /// which nothing trains).
  Lease tensor(std::int32_t micro_batch, core::OpId op) const;  ///< whole
  Lease gradient(std::int32_t micro_batch, core::OpId op) const;
  /// Releases, after `pass` and when its results were fetched, what no later pass of this stage needs.
  void let_go(std::int32_t micro_batch, schedule::ActionKind kind);

  /// Time of the collectives by which a group completes stage inputs, or output gradients, that came in
  /// parts.
  core::Seconds input_time(std::int64_t samples) const { return device_.time(input_collectives_, samples); }
  core::Seconds gradient_time(std::int64_t samples) const {
    return device_.time(gradient_collectives_, samples);
  }
  /// Gradients of operators that are divided by samples, over the group; after the mini-batch.
  void sum_over_samples(core::Seconds time);
  /// Gradients of experts, over the devices that have the same ones; after the mini-batch.
  void sum_over_holders(core::Seconds time);

  StageWeights& weights() { return weights_; }
  bool has(core::OpId op) const { return own_.contains(op); }

 private:
  void note_collectives();
  /// What holds an operator's output, and its internals.
  struct Kinds {
    plan::MemoryKind output, saved;
  };
  void run_forward(InFlight& state, core::OpId id, int version, Kinds kinds);
  void rebuild(InFlight& state, std::size_t segment, int version);
  void drop_rebuilt(InFlight& state, std::size_t segment);
  void show(InFlight& state, core::OpId id, plan::MemoryKind kind);
  void compute(InFlight& state, core::OpId id, int version, Kinds kinds);
  void apply_after(InFlight& state, core::OpId id, plan::MemoryKind kind);
  void forget_read(InFlight& state, core::OpId id);
  void make_whole(InFlight& state);

  void start_loss(InFlight& state, core::OpId id);
  void keep_loss(core::OpId id, const Samples& samples, const kernels::Buffer& gradient);
  void input_gradients(InFlight& state, core::OpId id, int version);
  void show_gradient(InFlight& state, core::OpId id);
  void compute_gradients(InFlight& state, core::OpId id, int version);
  void hand_up(InFlight& state, core::OpId id, const std::vector<Lease>& terms);
  void weight_gradient(InFlight& state, core::OpId id, int version);
  void defer(InFlight& state, core::OpId id);
  void go_before_sum(InFlight& state, core::OpId id);
  void add_up(InFlight& state, core::OpId id);
  void add_term(InFlight& state, core::OpId source, const Sharding& sharding, const Lease& term);
  void add_to(Lease& sum, const Lease& term);
  Lease settled(InFlight& state, core::OpId id, const Sharding& sharding);
  Lease own_gradient(InFlight& state, core::OpId id);

  bool has_kernel(core::OpId id) const { return kernels::has_kernel(device_.graph.op(id).kind); }
  bool runs_input_gradient(core::OpId id, std::int64_t samples);
  bool weighs(core::OpId id) const { return device_.wire(id).weighs; }
  bool shows_part(core::OpId id) const;
  Sharding sharding_of(core::OpId id) const {
    return own_.contains(id) ? device_.shard(id).makes : Sharding();
  }
  layout::Placement placement_of(core::OpId id) const;
  Extent extent(const InFlight& state, core::OpId id) const;
  void reshard_input(InFlight& state, core::OpId id, std::size_t slot, plan::MemoryKind kind);
  Lease input(const InFlight& state, core::OpId id, std::size_t slot) const;
  kernels::Kernel& kernel(core::OpId id, std::int64_t samples);  ///< of the stage's samples
  kernels::Operands operands(const InFlight& state, core::OpId id, int version) const;
  void run(kernels::Kernel& kernel, graph::Pass pass, const kernels::Operands& operands, core::OpId id);
  std::vector<Lease> acquire(const std::vector<kernels::Slot>& slots, plan::MemoryKind kind, core::OpId id);
  Lease acquire(const kernels::Slot& slot, plan::MemoryKind kind, core::OpId id);

  Device& device_;
  plan::Stage stage_;
  std::set<core::OpId> own_, outputs_, unread_;
  Segments segments_;
  std::set<std::pair<core::OpId, Sharding>> kept_;  ///< read so by operators that are not computed again
  std::map<core::OpId, std::size_t> in_place_;    ///< over which source; what a segment reads is needed again
  std::map<core::OpId, core::OpId> last_reader_;  ///< of the stage's own tensors, within it
  std::set<core::OpId> packed_;                   ///< whole for messages alone
  std::vector<layout::GroupCollective> input_collectives_, gradient_collectives_;
  std::optional<ContextGroup> context_;
  std::map<std::pair<core::OpId, std::int64_t>, ContextAttention> attentions_;  ///< of it, by samples
  std::map<std::pair<core::OpId, std::int64_t>, ExpertDispatch> dispatches_;    ///< of it, by samples
  StageWeights weights_;
  DataSet data_;
  std::int64_t mini_batch_, mini_batches_;  ///< samples; of a program
  std::map<std::pair<core::OpId, std::int64_t>, std::int64_t>
      seen_;  ///< how often the operator lost at that sample
  std::map<std::int32_t, InFlight> in_flight_;
};

}  // namespace penstock::replay
