#include "zero_traffic.hpp"

#include <algorithm>

#include "weight_parts.hpp"

namespace penstock::cost {

core::Bytes sent_gradients(const Problem& problem, const plan::Stage& stage, core::Bytes weights) {
  const plan::Training& training = problem.training;
  const bool narrow =
      plan::replica_placement(stage).shards_state() && framework_memory(problem).sends_as_weights;
  if (!narrow) return training.sent_gradients(weights);
  return training.compression.gradient_bytes(std::min(weights, training.gradients(weights)));
}

core::Bytes gathered_weights(const Problem& local, const plan::Stage& stage, core::OpId id,
                             core::Bytes weights) {
  const graph::Operator& op = local.graph.op(id);
  if (op.kind != graph::OpKind::experts) return weights;
  plan::ReplicaPlacement placement = plan::replica_placement(stage);
  placement.whole_experts = whole_experts(framework_memory(local), op);
  return placement.gathered(weights);
}

ZeroTraffic zero_traffic(const Problem& local, const plan::Stage& stage, core::OpId op, plan::Partition how) {
  ZeroTraffic out;
  const plan::ReplicaPlacement placement = plan::replica_placement(stage);
  if (!placement.shards_gradients()) return out;
  if (stage.experts_apart() && local.graph.op(op).kind == graph::OpKind::experts)
    out.among = layout::GroupScope::expert_sharers;
  const double part = largest_part(stage);
  const core::Bytes weights = gathered_weights(local, stage, op, weights_of(local.graph, op, how, part));
  out.scattered = sent_gradients(local, stage, weights);
  if (placement.shards_weights()) out.gathered = weights + frozen_of(local.graph, op, how, part);
  return out;
}

bool gathers_backward(const plan::Stage& stage, bool computed_again) {
  return !computed_again || stage.recompute.of != plan::Recomputation::SegmentScope::layers;
}

}  // namespace penstock::cost
