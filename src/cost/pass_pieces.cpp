#include "penstock/cost/pass_pieces.hpp"

#include <algorithm>
#include <ranges>

#include "group_collectives.hpp"
#include "weight_parts.hpp"
#include "zero_traffic.hpp"

namespace penstock::cost {
namespace {

using core::Bytes;
using core::OpId;
using layout::GroupCollective;
using layout::GroupScope;
using GroupCollectives = PassPiece::GroupCollectives;
using Pass = PassPieces::Pass;

/// Operators of a layer, or between two, in the order of a pass, with what ZeRO moves of them.
struct PassLayer {
  std::size_t first, last;  ///< positions; those of another layer may be between
  std::map<GroupScope, Bytes> weights, gradients;
};

GroupCollectives all_gathers(const std::map<GroupScope, Bytes>& bytes, OpId op, bool scatters) {
  GroupCollectives out;
  for (const auto& [among, all] : bytes)
    if (all > Bytes(0))
      out.push_back({GroupCollective::TransferKind::all_gather, op, all, true, among, scatters});
  return out;
}

class PieceCutter {
 public:
  explicit PieceCutter(const GroupCollectives& waits) {
    for (const GroupCollective& each : waits) waits_of_[each.op].push_back(each);
  }

  void begin(GroupCollectives weights) {
    if (weights.empty()) return;
    out_.emplace_back().weights = std::move(weights);
    out_.back().ahead = layer_in_front_ == 0 ? 0 : layer_in_front_ - 1;
    layer_in_front_ = out_.size() - 1;
  }
  void add(OpId id) {
    const auto found = waits_of_.find(id);
    if (found == waits_of_.end()) return out_.back().operators.push_back(id);
    for (const GroupCollective& each : found->second)
      if (each.before) wait(each);
    out_.back().operators.push_back(id);
    for (const GroupCollective& each : found->second)
      if (!each.before) wait(each);
  }
  void end(GroupCollectives gradients) {
    if (gradients.empty()) return;
    out_.back().gradients = std::move(gradients);
    out_.emplace_back();
    awaits_gradients_ = true;
  }
  std::vector<PassPiece> take() {
    if (awaits_gradients_ && !out_.back().operators.empty()) out_.emplace_back();
    return std::move(out_);
  }

 private:
  void wait(const GroupCollective& collective) {
    out_.back().then = collective;
    out_.emplace_back();
  }

  std::map<OpId, GroupCollectives> waits_of_;
  std::vector<PassPiece> out_{1};
  std::size_t layer_in_front_ = 0;  ///< its first piece
  bool awaits_gradients_ = false;
};

/// Layer that each operator of an order belongs to.
class LayerIndex {
 public:
  LayerIndex(const std::map<OpId, std::size_t>& known, const std::vector<OpId>& order) {
    std::map<std::size_t, std::size_t> index;
    bool outside = false;  // the operator before
    for (std::size_t i = 0; i < order.size(); ++i) {
      const auto found = known.find(order[i]);
      const bool fresh =
          found != known.end() ? index.try_emplace(found->second, all.size()).second : !outside;
      outside = found == known.end();
      if (fresh) all.push_back({i, i, {}, {}});
      of.push_back(outside ? all.size() - 1 : index.at(found->second));
      all[of.back()].last = i;
    }
  }
  std::vector<PassLayer> all;
  std::vector<std::size_t> of;  ///< [position]
};

}  // namespace

bool PassPieces::may_wait(const plan::Stage& stage) {
  return std::ranges::any_of(layout::kAmong, [&](GroupScope among) { return layout::meet(stage, among); });
}

PassPieces::PassPieces(const Problem& problem, const plan::Stage& stage)
    : local_(problem, stage), stage_(stage), again_(computed_again(problem.graph, stage)) {
  if (stage.tensor_parallel > 1) {
    const graph::OpGraph& graph = local_.get().graph;
    const layout::StageLayout placed = layout::infer(graph, stage);
    how_ = partitions(stage, placed);
    if (!saves_gathered(problem, stage))
      for (const layout::TensorCopy& each : placed.gathered)
        gathered_again_.push_back({GroupCollective::TransferKind::all_gather, each.readers.front(),
                                   graph.op(each.tensor).output_bytes, true});
  }
  collectives_ = group_collectives(problem, local_.get(), stage, how_);
  if (!plan::replica_placement(stage).shards_gradients()) return;
  const auto layers = plan::segments(problem.graph, stage.operators, plan::kRecomputeLayers);
  for (std::size_t k = 0; k < layers.size(); ++k)
    for (const OpId id : layers[k]) layers_[id] = k;
}

std::vector<OpId> PassPieces::in_order(Pass pass, std::span<const OpId> operators) const {
  std::vector<OpId> order(operators.begin(), operators.end());
  std::ranges::sort(order);
  if (pass == Pass::recompute)
    std::erase_if(order, [&](OpId id) {
      return !std::ranges::binary_search(again_.whole, id) && !std::ranges::binary_search(again_.core, id);
    });
  else if (pass != Pass::forward)
    std::ranges::reverse(order);
  return order;
}

GroupCollectives PassPieces::waits(Pass pass) const {
  if (pass == Pass::weight_gradient) return {};
  if (pass != Pass::recompute) return pass == Pass::forward ? collectives_.forward : collectives_.backward;
  GroupCollectives again;
  std::ranges::copy_if(collectives_.forward, std::back_inserter(again), [&](const GroupCollective& c) {
    return std::ranges::binary_search(again_.whole, c.op);
  });
  return again;
}

std::vector<PassPiece> PassPieces::of(Pass pass, std::span<const OpId> operators) const {
  const std::vector<OpId> order = in_order(pass, operators);
  PieceCutter cutter(waits(pass));
  if (!plan::replica_placement(stage_).shards_gradients()) {
    for (const OpId id : order) cutter.add(id);
    return cutter.take();
  }
  LayerIndex layers(layers_, order);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const ZeroTraffic traffic = zero_traffic(local_.get(), stage_, order[i], partition_of(how_, order[i]));
    const bool again = std::ranges::binary_search(again_.whole, order[i]);
    PassLayer& layer = layers.all[layers.of[i]];
    if (gathers(pass, again)) layer.weights[traffic.among] += traffic.gathered;
    if (pass == Pass::backward || pass == Pass::weight_gradient)
      layer.gradients[traffic.among] += traffic.scattered;
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    const PassLayer& layer = layers.all[layers.of[i]];
    if (layer.first == i) cutter.begin(all_gathers(layer.weights, order[i], false));
    cutter.add(order[i]);
    if (layer.last == i) cutter.end(all_gathers(layer.gradients, order[i], true));
  }
  return cutter.take();
}

GroupCollectives PassPieces::gathered_again(Pass pass) const {
  return pass == Pass::backward || pass == Pass::input_gradient ? gathered_again_ : GroupCollectives();
}

/// A layer that was computed again as one has its weights from then on.
bool PassPieces::gathers(Pass pass, bool again) const {
  if (pass == Pass::forward) return true;
  if (pass == Pass::recompute) return again;
  return pass != Pass::weight_gradient && gathers_backward(stage_, again);
}

}  // namespace penstock::cost
