#include "zero_collectives.hpp"

#include <algorithm>

#include "group_memo.hpp"
#include "weight_parts.hpp"
#include "zero_traffic.hpp"

namespace penstock::cost {

using core::Bytes;
using core::OpId;
using core::Seconds;

namespace {

bool is_in(const std::vector<OpId>& ascending, OpId id) {
  return std::binary_search(ascending.begin(), ascending.end(), id);
}

}  // namespace

SentByZero::SentByZero(const Problem& whole, const Problem& local, const plan::Stage& stage)
    : whole_(whole),
      local_(local),
      stage_(stage),
      shards_(plan::replica_placement(stage).shards_gradients()) {
  if (!shards_) return;
  const auto layers = plan::segments(local.graph, stage.operators, plan::kRecomputeLayers);
  layers_ = layers.size();
  for (const auto& layer : layers) in_layers_.insert(in_layers_.end(), layer.begin(), layer.end());
  std::sort(in_layers_.begin(), in_layers_.end());
}

ReplicaTraffic SentByZero::of(std::span<const OpId> operators, const std::map<OpId, plan::Partition>& how,
                              const RecomputedOps& again) {
  ReplicaTraffic out;
  if (!shards_) return out;
  out.count = layers_;
  for (const OpId id : operators) {
    OpTime& sent = is_in(in_layers_, id) ? out.layers : out.rest;
    const ZeroTraffic traffic = zero_traffic(local_, stage_, id, partition_of(how, id));
    sent.weight_gradient += time(traffic.among, traffic.scattered);
    if (traffic.gathered == Bytes(0)) continue;
    const Seconds gathered = time(traffic.among, traffic.gathered);
    const bool recomputed = is_in(again.whole, id);
    sent.forward += gathered;
    if (recomputed) sent.recompute += gathered;
    if (gathers_backward(stage_, recomputed)) sent.input_gradient += gathered;
  }
  return out;
}

Seconds SentByZero::time(layout::GroupScope among, Bytes bytes) {
  const auto [found, fresh] = gathering_.try_emplace(among);
  if (fresh) found->second = all_gather(whole_, layout::groups(stage_, among));
  return found->second.time(bytes);
}

}  // namespace penstock::cost
