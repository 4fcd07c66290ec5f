#include "penstock/cost/pass_parts.hpp"

#include <algorithm>

#include "group_collectives.hpp"
#include "penstock/plan/mesh.hpp"
#include "weight_parts.hpp"
#include "zero_collectives.hpp"

namespace penstock::cost {
namespace {

using core::OpId;
using core::Seconds;
using layout::GroupScope;

/// Nothing below zero, which only rounding would leave.
OpTime difference(const OpTime& a, const OpTime& b) {
  const auto above = [](Seconds x, Seconds y) { return std::max(x - y, Seconds(0)); };
  return {above(a.forward, b.forward), above(a.input_gradient, b.input_gradient),
          above(a.weight_gradient, b.weight_gradient), above(a.recompute, b.recompute)};
}

OpTime both(const OpTime& a, const OpTime& b) {
  return {a.forward + b.forward, a.input_gradient + b.input_gradient, a.weight_gradient + b.weight_gradient,
          a.recompute + b.recompute};
}

/// The problem on a cluster that differs; nothing is remembered.
struct OtherWorld {
  OtherWorld(const Problem& from, cluster::Cluster other)
      : cluster(std::move(other)), problem{from.graph, cluster, from.costs, from.training, from.memory} {}
  cluster::Cluster cluster;
  Problem problem;
};

/// Seconds that passes of a stage wait for groups that all wait at once.
class GroupWaits {
 public:
  GroupWaits(const Problem& problem, const plan::Stage& stage, GroupScope among,
             const layout::GroupCollectives& collectives, const std::vector<OpId>& again)
      : among_(among), collectives_(collectives), again_(again) {
    if (layout::meet(stage, among)) times_.emplace(problem.cluster, layout::groups(stage, among));
  }
  /// No collective takes less than `launch`.
  OpTime of(std::int64_t samples, Seconds launch) const {
    OpTime out;
    if (!times_) return out;
    const auto time = [&](const layout::GroupCollective& c) {
      return c.among == among_ ? std::max(times_->time(c, samples), launch) : Seconds(0);
    };
    for (const auto& c : collectives_.forward) {
      out.forward += time(c);
      if (std::ranges::binary_search(again_, c.op)) out.recompute += time(c);
    }
    for (const auto& c : collectives_.backward) out.input_gradient += time(c);
    return out;
  }

 private:
  GroupScope among_;
  const layout::GroupCollectives& collectives_;
  const std::vector<OpId>& again_;
  std::optional<GroupTimes> times_;
};

Seconds slowest_launch(const cluster::Cluster& cluster, std::span<const core::DeviceId> replica) {
  Seconds out;
  for (const core::DeviceId d : replica) out = std::max(out, cluster.type(d).host().one_kernel());
  return out;
}

}  // namespace

std::vector<PassParts> pass_parts(const Problem& problem, const plan::Stage& stage,
                                  std::span<const std::int64_t> samples) {
  const OtherWorld hostless(problem, problem.cluster.without_host_times());
  const OtherWorld bare(problem, hostless.cluster.slowed_by(1));
  const OperatorSets all = {stage.operators};
  ReplicaTimes whole(problem, stage, all), ring(problem, stage, all, ReplicaTimes::CountedWaits::ring),
      slowed(hostless.problem, stage, all, ReplicaTimes::CountedWaits::ring),
      kernels(bare.problem, stage, all, ReplicaTimes::CountedWaits::ring);

  const LocalProblem local(problem, stage);
  std::map<OpId, plan::Partition> how;
  if (stage.tensor_parallel > 1) how = partitions(stage, layout::infer(local.get().graph, stage));
  const RecomputedOps again = computed_again(problem.graph, stage);
  const layout::GroupCollectives collectives = group_collectives(problem, local.get(), stage, how);
  const GroupWaits experts(problem, stage, GroupScope::experts, collectives, again.whole),
      context(problem, stage, GroupScope::context, collectives, again.whole);
  const ReplicaTraffic sent = SentByZero(problem, local.get(), stage).of(stage.operators, how, again);

  std::vector<PassParts> out;
  for (std::size_t r = 0; r < samples.size(); ++r) {
    const StageTime time = whole.time(r, samples[r]);
    const OpTime host_free = slowed.time(r, samples[r]).compute;
    const Seconds launch = slowest_launch(problem.cluster, plan::Mesh(stage).replica(r));
    PassParts& parts = out.emplace_back();
    parts.kernels = kernels.time(r, samples[r]).compute;
    parts.sustained = difference(host_free, parts.kernels);
    parts.host = difference(time.compute, host_free);
    parts.experts = experts.of(samples[r], launch);
    parts.context = both(context.of(samples[r], launch), ring.time(r, samples[r]).collectives);
    parts.replicas = waited(sent, time.compute);
    parts.tensor = time.collectives;
    for (const OpTime* other : {&parts.experts, &parts.context, &parts.replicas})
      parts.tensor = difference(parts.tensor, *other);
  }
  return out;
}

}  // namespace penstock::cost
