#include "penstock/cost/sharding.hpp"

#include <algorithm>
#include <numeric>

#include "penstock/cost/stage_memo.hpp"
#include "weight_parts.hpp"

namespace penstock::cost {

OpShard op_shard(const graph::Operator& op, plan::Partition how, double part) {
  using layout::Placement;
  if (how == plan::Partition::whole) return {};
  if (how == plan::Partition::sequence && op.kind == graph::OpKind::experts) return {how, part, false, false};
  // A part of the tokens is as many numbers as that part of the features.
  if (how == plan::Partition::sequence) return {plan::Partition::column, part, false, false};
  const layout::PlacementRule rule = layout::rule(op, how);
  return {how, part, rule.reads == Placement::replicate, rule.makes == Placement::replicate};
}

std::vector<HeldCopy> held_copies(const graph::OpGraph& graph, const layout::StageLayout& placed,
                                  double part) {
  std::vector<HeldCopy> out;
  for (const layout::TensorCopy& copy : placed.copies) {
    const core::Bytes whole = graph.op(copy.tensor).output_bytes;
    out.push_back({copy, copy.placement == layout::Placement::replicate ? whole : rounded_up(whole, part)});
  }
  return out;
}

bool saves_gathered(const Problem& problem, const plan::Stage& stage) {
  const auto saves = [](const cluster::DeviceType& type) { return type.host().memory.saves_gathered; };
  if (stage.devices.empty()) return std::ranges::any_of(problem.cluster.types(), saves);  // placed later
  return saves(problem.cluster.type(stage.devices.front()));
}

std::vector<HeldCopy> gathered_copies(const graph::OpGraph& graph, const layout::StageLayout& placed,
                                      double part) {
  std::vector<HeldCopy> out;
  for (const layout::TensorCopy& copy : placed.gathered) {
    const core::Bytes whole = graph.op(copy.tensor).output_bytes;
    out.push_back({copy, whole - rounded_up(whole, part)});
  }
  return out;
}

double part_of(const plan::Stage& stage, std::size_t member) {
  if (stage.shares.empty()) return 1.0 / stage.tensor_parallel;
  return static_cast<double>(stage.shares[member]) /
         static_cast<double>(std::accumulate(stage.shares.begin(), stage.shares.end(), std::int64_t{0}));
}

double largest_part(const plan::Stage& stage) {
  double most = 0;
  for (std::size_t m = 0; m < static_cast<std::size_t>(stage.tensor_parallel); ++m)
    most = std::max(most, part_of(stage, m));
  return most;
}

std::shared_ptr<const TimesByReplica> replica_times(const Problem& problem, const plan::Stage& stage,
                                                    const OperatorSets& sets,
                                                    std::span<const std::int64_t> samples,
                                                    ReplicaTimes::CountedWaits waits) {
  StageKey key("times", problem, stage);
  key.add(sets);
  for (const std::int64_t count : samples) key.add(count);
  key.add(static_cast<std::int64_t>(waits));
  return StageMemo::recall(problem, key, [&] {
    ReplicaTimes times(problem, stage, sets, waits);
    TimesByReplica out;
    for (std::size_t r = 0; r < samples.size(); ++r) out.push_back(times.times(r, samples[r]));
    return out;
  });
}

}  // namespace penstock::cost
