#include "group_memo.hpp"
#include "penstock/cost/sharding.hpp"
#include "penstock/cost/stage_memo.hpp"
#include "penstock/cost/weight_exchanges.hpp"
#include "penstock/layout/experts.hpp"
#include "penstock/plan/mesh.hpp"
#include "weight_parts.hpp"
#include "zero_traffic.hpp"

namespace penstock::cost {

using core::Bytes;
using core::OpId;
using core::Seconds;
using plan::Partition;

namespace {

/// Gradients of a set of operators, by the devices that sum them. These are those of one position in all
/// replicas, those that hold the same experts, all devices of a group before that, or all devices.
struct SummedWeights {
  Bytes by_replica, by_experts, in_group, by_all;
};
SummedWeights summed_weights(const Problem& problem, const plan::Stage& stage,
                             std::span<const OpId> operators, const std::map<OpId, Partition>& how) {
  SummedWeights out;
  for (const OpId id : operators) {
    const Partition divided = partition_of(how, id);
    const Bytes weights = weights_of(problem.graph, id, divided, largest_part(stage));
    if (stage.experts_apart() && problem.graph.op(id).kind == graph::OpKind::experts) {
      out.by_experts += rounded_up(weights, 1.0 / stage.expert_parallel);
      continue;
    }
    (divided == Partition::batch ? out.by_all : out.by_replica) += weights;
    if (divided == Partition::sequence) out.in_group += weights;
  }
  return out;
}

/// Groups of devices with equal weights, of those that share them where they shard them, and of those with
/// the same part.
struct WeightHolders {
  DeviceGroups equal, sharing, copies;
};

/// Devices that hold a stage's weights: worked out once, for all its sets of operators.
struct StageHolders {
  explicit StageHolders(const plan::Stage& stage) : all(DeviceGroups::List{stage.devices}) {
    if (stage.tensor_parallel > 1) tensor = plan::Mesh(stage).groups(plan::MeshDim::tensor);
    weights.equal = plan::replica_groups(stage);
    if (plan::replica_placement(stage).shards_state()) weights.sharing = plan::shard_groups(stage);
    if (plan::replica_placement(stage).copies > 1) weights.copies = plan::copy_groups(stage);
    if (!stage.experts_apart()) return;
    experts.equal = experts.sharing = layout::expert_replicas(stage);
    experts.copies = weights.copies;
  }
  WeightHolders weights, experts;
  DeviceGroups tensor, all;
};

/// Gradients of `own` bytes of weights, summed over the devices that hold the same. Where these shard them,
/// the parts are summed across groups besides, and new weights are gathered, unless later.
void add_replica_sums(const Problem& problem, const plan::Stage& stage, const WeightHolders& holders,
                      Bytes own, bool all_gathers_later, std::vector<GradientReduction>& out) {
  if (own == Bytes(0) || holders.equal.front().size() < 2) return;
  const plan::ReplicaPlacement placement = plan::replica_placement(stage);
  const Bytes gradients = sent_gradients(problem, stage, own);
  if (!placement.shards_state()) return out.push_back({holders.equal, gradients, false});
  const DeviceGroups& groups = holders.sharing;
  if (!placement.shards_gradients() && all_gathers_later)  // scattered, which takes as long as to gather
    out.push_back({groups, gradients, true});
  else if (!placement.shards_gradients())
    out.push_back({groups, Bytes((gradients.value() + own.value() + 1) / 2), false});
  if (placement.copies > 1)
    out.push_back({holders.copies, placement.held(gradients, {}, placement.state), false});
  if (placement.shards_gradients() && !placement.shards_weights() && !all_gathers_later)
    out.push_back({groups, own, true});
}

/// `gathers_later`: without new weights that replicas gather.
std::vector<GradientReduction> reductions_of(const Problem& problem, const plan::Stage& stage,
                                             const StageHolders& holders, const SummedWeights& weights,
                                             bool all_gathers_later) {
  const auto gradients = [&](Bytes of) { return problem.training.sent_gradients(of); };
  std::vector<GradientReduction> out;
  if (weights.in_group > Bytes(0))  // each device has the gradient of its tokens
    out.push_back({holders.tensor, gradients(weights.in_group), false});
  add_replica_sums(problem, stage, holders.weights, weights.by_replica, all_gathers_later, out);
  if (stage.experts_apart())
    add_replica_sums(problem, stage, holders.experts, weights.by_experts, all_gathers_later, out);
  if (weights.by_all > Bytes(0) && stage.devices.size() > 1)
    out.push_back({holders.all, gradients(weights.by_all), false});
  return out;
}

std::map<OpId, Partition> divided(const Problem& problem, const plan::Stage& stage) {
  if (stage.tensor_parallel == 1) return {};
  return partitions(stage, layout::infer(problem.graph, stage));
}

}  // namespace

std::vector<GradientReduction> reductions(const Problem& problem, const plan::Stage& stage,
                                          std::span<const OpId> operators) {
  const auto how = divided(problem, stage);
  return reductions_of(problem, stage, StageHolders(stage), summed_weights(problem, stage, operators, how),
                       false);
}

std::vector<std::vector<GradientReduction>> reductions(const Problem& problem, const plan::Stage& stage,
                                                       const OperatorSets& sets) {
  const auto how = divided(problem, stage);
  const plan::ReplicaPlacement placement = plan::replica_placement(stage);
  const bool apart = sets.size() > 1 && placement.shards_state() && !placement.shards_weights();
  const StageHolders holders(stage);
  std::vector<std::vector<GradientReduction>> out;
  Bytes updated, experts;
  for (const auto& operators : sets) {
    const SummedWeights weights = summed_weights(problem, stage, operators, how);
    out.push_back(reductions_of(problem, stage, holders, weights, apart));
    updated += weights.by_replica;
    experts += weights.by_experts;
  }
  if (apart && updated > Bytes(0)) out.back().push_back({holders.weights.sharing, updated, true});
  if (apart && experts > Bytes(0) && stage.expert_replicas() > 1)
    out.back().push_back({holders.experts.equal, experts, true});
  return out;
}

namespace {

using Exchange = WeightExchange;

/// Gradients of `own` bytes of weights, by a replicated or sharded state.
void add_gradients(const Problem& problem, const plan::Stage& stage, const WeightHolders& holders, Bytes own,
                   std::vector<Exchange>& out) {
  if (own == Bytes(0) || holders.equal.front().size() < 2) return;
  const plan::ReplicaPlacement placement = plan::replica_placement(stage);
  const Bytes gradients = sent_gradients(problem, stage, own);
  const bool hybrid = placement.copies > 1;
  if (!placement.shards_state())
    return out.push_back({Exchange::ExchangeKind::all_reduce, holders.equal, gradients, false});
  if (!placement.shards_gradients())
    out.push_back({Exchange::ExchangeKind::reduce_scatter, holders.sharing, gradients, false});
  if (hybrid)
    out.push_back({Exchange::ExchangeKind::all_reduce, holders.copies,
                   placement.held(gradients, {}, placement.state), false});
}

/// Weights that devices updated in parts.
void add_weights(const plan::Stage& stage, const WeightHolders& holders, Bytes own,
                 std::vector<Exchange>& out) {
  const plan::ReplicaPlacement placement = plan::replica_placement(stage);
  if (own > Bytes(0) && placement.shards_state() && !placement.shards_weights() &&
      holders.sharing.front().size() > 1)
    out.push_back({Exchange::ExchangeKind::all_gather, holders.sharing, own, false});
}

}  // namespace

std::vector<WeightExchange> weight_exchanges(const Problem& problem, const plan::Stage& stage,
                                             const OperatorSets& sets) {
  const auto how = divided(problem, stage);
  const StageHolders holders(stage);
  std::vector<Exchange> out;
  const auto all_reduce = [&](const DeviceGroups& groups, Bytes weights, bool within) {
    if (weights > Bytes(0) && groups.front().size() > 1)
      out.push_back(
          {Exchange::ExchangeKind::all_reduce, groups, problem.training.sent_gradients(weights), within});
  };
  Bytes updated, experts;
  for (const auto& operators : sets) {
    const SummedWeights weights = summed_weights(problem, stage, operators, how);
    all_reduce(holders.tensor, weights.in_group, true);
    add_gradients(problem, stage, holders.weights, weights.by_replica, out);
    if (stage.experts_apart()) add_gradients(problem, stage, holders.experts, weights.by_experts, out);
    all_reduce(holders.all, weights.by_all, false);
    updated += weights.by_replica;
    experts += weights.by_experts;
  }
  add_weights(stage, holders.weights, updated, out);
  if (stage.experts_apart()) add_weights(stage, holders.experts, experts, out);
  return out;
}

namespace {

AllReduce times_of(const Problem& problem, const GradientReduction& reduction) {
  return reduction.all_gather ? all_gather(problem, reduction.groups) : all_reduce(problem, reduction.groups);
}

}  // namespace

Seconds time(const Problem& problem, const GradientReduction& reduction) {
  return times_of(problem, reduction).time(reduction.bytes);
}

/// Reductions among the same groups hold their lists together.
std::int64_t held_bytes(const TimedReduction& timed) {
  const DeviceGroups& groups = timed.reduction.groups;
  return static_cast<std::int64_t>(sizeof(timed)) + held_bytes(groups.list()) / groups.owners();
}

std::shared_ptr<const TimedReductions> timed_reductions(const Problem& problem, const plan::Stage& stage,
                                                        const OperatorSets& sets) {
  StageKey key("reductions", stage);
  key.add(sets);
  return StageMemo::recall(problem, key, [&] {
    // The buckets of a stage, which are many, have few groups; this helps also where the problem remembers
    // nothing.
    std::map<std::pair<DeviceGroups, bool>, AllReduce> known;
    TimedReductions out;
    for (const auto& by_set : reductions(problem, stage, sets)) {
      out.emplace_back();
      for (const GradientReduction& reduction : by_set) {
        const auto [times, fresh] = known.try_emplace({reduction.groups, reduction.all_gather});
        if (fresh) times->second = times_of(problem, reduction);
        out.back().push_back({reduction, times->second.time(reduction.bytes)});
      }
    }
    return out;
  });
}

}  // namespace penstock::cost
