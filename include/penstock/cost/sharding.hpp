#pragma once
// Effect of tensor parallelism and ZeRO on a stage's time and memory; layout has who holds which shard.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "penstock/cost/communication.hpp"
#include "penstock/cost/context.hpp"
#include "penstock/cost/device_groups.hpp"
#include "penstock/cost/estimated.hpp"
#include "penstock/cost/problem.hpp"
#include "penstock/layout/infer.hpp"

namespace penstock::cost {

/// Kinds of collectives (layout::GroupCollective::Kind) that some operator needs.
struct CollectiveKinds {
  bool all_reduce = true, all_gather = true, all_to_all = true;
  void add(layout::GroupCollective::TransferKind kind);
};

/// Seconds of collectives in one group, or in several of one size at once, which then share links.
class GroupTimes {
 public:
  using Groups = std::vector<std::vector<core::DeviceId>>;
  /// Times of other kinds are not prepared, which takes a while: zero.
  GroupTimes(const cluster::Cluster& cluster, const Groups& groups, CollectiveKinds kinds = {});
  GroupTimes(const cluster::Cluster& cluster, std::span<const core::DeviceId> group,
             CollectiveKinds kinds = {})
      : GroupTimes(cluster, Groups{{group.begin(), group.end()}}, kinds) {}
  core::Seconds time(const layout::GroupCollective& collective, std::int64_t samples) const;
  /// Origin of that time.
  TimeOrigin origin(const layout::GroupCollective& collective, std::int64_t samples) const;
  friend bool operator==(const GroupTimes&, const GroupTimes&) = default;

 private:
  struct MeasuredQuery {
    const CollectiveMeasurements& measured;
    core::Bytes bytes;
  };
  MeasuredQuery asked(const layout::GroupCollective& collective, std::int64_t samples) const;
  AllReduce all_reduce_, all_gather_;
  AffineTime all_to_all_;
  CollectiveMeasurements measured_all_to_all_;
};

/// One device's shard of an operator, as the cost model gets it.
OpShard op_shard(const graph::Operator& op, plan::Partition partition, double part);

/// A tensor in a second placement, and its bytes, per sample, on one device: activations.
struct HeldCopy {
  layout::TensorCopy copy;
  core::Bytes bytes;
};
/// All of a stage, on the device that has this part of what is divided.
std::vector<HeldCopy> held_copies(const graph::OpGraph& graph, const layout::StageLayout& placed,
                                  double part);

/// True if the framework that runs the stage saves inputs that products gathered whole.
bool saves_gathered(const Problem& problem, const plan::Stage& stage);
/// Inputs of StageLayout::gathered, with the bytes that each needs beyond the part that a device saves anyway.
std::vector<HeldCopy> gathered_copies(const graph::OpGraph& graph, const layout::StageLayout& placed,
                                      double part);

/// Share of the work of the i-th device of a group, between 0 and 1.
double part_of(const plan::Stage& stage, std::size_t member);
/// Part of the device that has most.
double largest_part(const plan::Stage& stage);

/// Seconds of one micro-batch on one replica. Collectives of a tensor-parallel group run between the
/// operators and hide behind nothing. With ZeRO 2 replicas scatter each layer's gradients, with ZeRO 3 they
/// gather its weights too, once per pass. They do so while the device computes another layer, as PyTorch's
/// FSDP does (Zhao et al., VLDB 2023, section 3.3: the next layer's weights ahead of it). Differs: layers are
/// taken as equal, operators outside of them (plan::layer_of) hide nothing, and hiding slows nothing down.
struct StageTime {
  OpTime compute;      ///< on the slowest device of the group
  OpTime collectives;  ///< of tensor-parallel, context and expert groups (layout::Among), hops of ring
                       ///< attention (RingTimes), and, with ZeRO 2 and 3, what passes wait for among replicas
  OpTime total() const;
  friend bool operator==(const StageTime&, const StageTime&) = default;
};
/// Seconds that passes send among replicas: for their layers, one after the other, and for operators outside
/// of them.
struct ReplicaTraffic {
  OpTime layers, rest;
  std::size_t count = 0;  ///< layers
};

/// Sets of a stage's operators.
using OperatorSets = std::vector<std::vector<core::OpId>>;

/// A stage's operators that are computed again before the backward pass, whole or only their core; each
/// ascending.
struct RecomputedOps {
  std::vector<core::OpId> whole, core;
};
RecomputedOps computed_again(const graph::OpGraph& graph, const plan::Stage& stage);

/// Times of some of the stage's operators, or of several sets of them, on one replica after the other. Common
/// work of replicas and sets is done once. Problem and stage must outlive it. For one thread.
class ReplicaTimes {
 public:
  ReplicaTimes(const Problem& problem, const plan::Stage& stage, std::span<const core::OpId> operators);
  /// Waits that passes count: only hops of ring attention, or every collective. The rest is timed elsewhere
  /// (pass_pieces.hpp).
  enum class CountedWaits : std::uint8_t { ring, all };
  ReplicaTimes(const Problem& problem, const plan::Stage& stage, OperatorSets sets,
               CountedWaits waits = CountedWaits::all);
  StageTime time(std::size_t replica, std::int64_t samples) { return times(replica, samples).front(); }
  /// By set.
  std::vector<StageTime> times(std::size_t replica, std::int64_t samples);

 private:
  /// One set.
  struct SetTraffic {
    std::vector<core::OpId> operators;
    std::vector<layout::GroupCollective> forward, backward;
    ReplicaTraffic zero;  ///< by ZeRO, in each pass
  };
  /// Replicas of devices of the same types, in this order, have equal times.
  using Alike = std::pair<std::vector<std::size_t>, std::int64_t>;  ///< types, samples
  struct CollectiveSetting {
    layout::GroupScope among;
    GroupTimes group;
    std::int64_t samples;
    core::Seconds launch;  ///< a collective lasts no less
    friend bool operator==(const CollectiveSetting&, const CollectiveSetting&) = default;
  };
  void deal_collectives();
  StageTime compute(const SetTraffic& part, std::size_t replica, std::int64_t samples) const;
  OpTime collectives_of(const SetTraffic& part, const CollectiveSetting& who) const;
  const std::vector<OpTime>& collective_times(const CollectiveSetting& who);
  core::Seconds launch_of(std::span<const core::DeviceId> replica) const;
  void add_group_collectives(std::span<const core::DeviceId> replica, std::int64_t samples,
                             std::vector<StageTime>& out);
  core::Seconds slowest_core(core::OpId id, plan::Partition how, std::span<const core::DeviceId> replica,
                             std::int64_t samples) const;
  OpTime ring_time(const SetTraffic& part, std::span<const core::DeviceId> replica,
                   std::int64_t samples) const;
  const Problem& problem() const { return local_.get(); }

  const Problem& whole_;
  LocalProblem local_;
  const plan::Stage& stage_;
  std::vector<SetTraffic> parts_;
  std::optional<RingTimes> ring_;
  RecomputedOps again_;                        ///< of all of the stage's
  std::map<core::OpId, plan::Partition> how_;  ///< of a divided stage
  CountedWaits waits_;
  std::map<layout::GroupScope, CollectiveKinds> kinds_;  ///< of the collectives of all sets
  std::map<layout::GroupScope, GroupTimes>
      together_;  ///< of groups that wait at once: all but tensor-parallel ones
  std::map<Alike, std::vector<StageTime>>
      computed_;  ///< by set, without collectives of tensor-parallel groups and replicas
  std::vector<std::pair<CollectiveSetting, std::vector<OpTime>>> known_collectives_;
};

/// [replica][set] with `samples[replica]` of a micro-batch, one entry for each requested replica.
using TimesByReplica = std::vector<std::vector<StageTime>>;
std::shared_ptr<const TimesByReplica> replica_times(
    const Problem& problem, const plan::Stage& stage, const OperatorSets& sets,
    std::span<const std::int64_t> samples,
    ReplicaTimes::CountedWaits waits = ReplicaTimes::CountedWaits::all);

/// Time of some of the stage's operators with `samples` for the replica; without operators: of all of them on
/// the slowest replica.
StageTime stage_time(const Problem& problem, const plan::Stage& stage, std::span<const core::OpId> operators,
                     std::size_t replica, std::int64_t samples);
StageTime stage_time(const Problem& problem, const plan::Stage& stage, std::int64_t samples);

/// Bytes that one device of a group holds and moves; of the device with the most where `member` is left out.
/// `inputs` and `outputs` are whole, except what sequence parallelism leaves in parts.
StageLoad stage_load(const Problem& problem, const plan::Stage& stage);
StageLoad stage_load(const Problem& problem, const plan::Stage& stage, std::size_t member);
/// Bytes of the weights that the stage's own operators have on one device of a group.
core::Bytes held_weights(const graph::OpGraph& graph, const plan::Stage& stage, std::size_t member);

/// Gradients of some of the stage's operators after the last backward pass of a mini-batch. Every group of
/// devices reduces `bytes`, all groups at once; for `batch` operators all devices are one group. With ZeRO 1
/// gradients are scattered and new weights gathered, which is an all-reduce of the mean of both. With ZeRO 2
/// gradients are where they belong already and new weights are gathered. Groups that share by themselves sum
/// their parts across besides. Bytes as sent (Compression).
struct GradientReduction {
  DeviceGroups groups;
  core::Bytes bytes;
  bool all_gather = false;
  friend bool operator==(const GradientReduction&, const GradientReduction&) = default;
};
std::vector<GradientReduction> reductions(const Problem& problem, const plan::Stage& stage,
                                          std::span<const core::OpId> operators);
/// Reductions by set, one after the other: with ZeRO 1 and 2 new weights are gathered after the last of
/// several.
std::vector<std::vector<GradientReduction>> reductions(const Problem& problem, const plan::Stage& stage,
                                                       const OperatorSets& sets);
core::Seconds time(const Problem& problem, const GradientReduction& reduction);

/// Reductions by set, each with its time.
struct TimedReduction {
  GradientReduction reduction;
  core::Seconds time;
  friend bool operator==(const TimedReduction&, const TimedReduction&) = default;
};
using TimedReductions = std::vector<std::vector<TimedReduction>>;
std::int64_t held_bytes(const TimedReduction& timed);  ///< of a memo (stage_memo.hpp)
std::shared_ptr<const TimedReductions> timed_reductions(const Problem& problem, const plan::Stage& stage,
                                                        const OperatorSets& sets);

/// The optimizer's update of the weights that one device keeps up to date.
core::Seconds step_time(const Problem& problem, const plan::Stage& stage, std::size_t member,
                        const cluster::DeviceType& device);

}  // namespace penstock::cost
