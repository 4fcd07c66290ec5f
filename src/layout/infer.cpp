#include "penstock/layout/infer.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "penstock/layout/context.hpp"

namespace penstock::layout {
namespace {

using core::OpId;
using graph::OpKind;
using plan::Partition;
using Kind = GroupCollective::Kind;

class Inference {
 public:
  Inference(const graph::OpGraph& graph, const plan::Stage& stage)
      : graph_(graph), stage_(stage), placed_(graph.size()), summed_(graph.size()) {}

  StageLayout run() {
    for (const OpId id : stage_.operators) {
      const graph::Operator& op = graph_.op(id);
      find_producers(id);
      // Use the plan's choice, or Megatron-LM's rule; producers are placed by now.
      const auto chosen = stage_.partition.find(id);
      const Partition how = chosen != stage_.partition.end() ? chosen->second : usual(id);
      out_.partition.push_back(how);
      placed_[id.index()] = saved_placement(op, how, stage_);
      // Add up partial sums, and place inputs as the operator needs them.
      out_.collectives.add(sums_of(id, how));
      out_.collectives.add(shared_heads(id, how));
      for (const OpId producer : producers_) {
        place(id, producer, stage_rule(op, how, stage_).reads);
        hold(id, producer, how);
      }
      // The gradient of a replicated tensor that leaves the stage comes back in shards.
      if (placed_[id.index()] == Placement::replicate && leaves(id) && op.output_bytes.value() > 0)
        out_.collectives.backward.push_back({Kind::all_gather, id, op.output_bytes, true});
    }
    for (auto& [copy, readers] : copies_)
      out_.copies.push_back({copy.first, copy.second, std::move(readers)});
    for (auto& [tensor, readers] : gathered_)
      out_.gathered.push_back({tensor, Placement::replicate, std::move(readers)});
    return std::move(out_);
  }

 private:
  void find_producers(OpId id) {
    producers_.clear();
    for (graph::Vertex v : graph_.dag().predecessors(static_cast<graph::Vertex>(id.index())))
      producers_.emplace_back(static_cast<std::size_t>(v));
    std::ranges::sort(producers_);
    producers_.erase(std::unique(producers_.begin(), producers_.end()), producers_.end());
  }
  bool leaves(OpId id) const {
    const auto readers = graph_.dag().successors(static_cast<graph::Vertex>(id.index()));
    return std::ranges::any_of(readers, [&](graph::Vertex v) {
      return !std::ranges::binary_search(stage_.operators, OpId(static_cast<std::size_t>(v)));
    });
  }
  Placement placed(OpId producer) const { return placed_[producer.index()].value_or(Placement::sharded); }

  /// Megatron-LM's choice for an operator.
  Partition usual(OpId id) const {
    const graph::Operator& op = graph_.op(id);
    if (op.kind == OpKind::input) return Partition::whole;
    if (op.kind == OpKind::embedding) return Partition::row;
    if (op.kind == OpKind::attention || graph::passes_tokens_on(op)) return Partition::column;
    if (op.kind == OpKind::experts) return stage_.whole_experts ? Partition::sequence : Partition::column;
    if (routes(id)) return stage_.sequence_parallel ? Partition::sequence : Partition::whole;
    std::size_t all = 0, batch = 0, features = 0;
    for (const OpId producer : producers_) {
      ++all;
      batch += placed(producer) == Placement::shard_batch;
      features += placed(producer) == Placement::shard_features;
    }
    if (batch > 0 && batch == all) return Partition::batch;
    const bool sharded = features > 0 && features == all;
    const bool matrix = rule(op, Partition::column).partial_input_gradient;
    if (matrix) return sharded ? Partition::row : Partition::column;
    if (sharded) return Partition::column;
    return stage_.sequence_parallel ? Partition::sequence : Partition::whole;
  }

  /// True for a product that only scores experts: each device needs all scores of its tokens.
  bool routes(OpId id) const { return graph_.op(id).kind == OpKind::linear && only_scores(id); }
  bool only_scores(OpId id) const {
    const auto readers = graph_.dag().successors(static_cast<graph::Vertex>(id.index()));
    return !readers.empty() && std::ranges::all_of(readers, [&](graph::Vertex v) {
      const OpId reader(static_cast<std::size_t>(v));
      const graph::Operator& op = graph_.op(reader);
      if (op.kind == OpKind::experts) return graph_.operands(reader).front() != id;
      return (op.kind == OpKind::softmax || op.kind == OpKind::activation) && only_scores(reader);
    });
  }

  /// Partial sums of tensors kept by tokens are reduce-scattered, and gathered again in the backward pass:
  /// half of an all-reduce each.
  Collectives sums_of(OpId id, Partition how) {
    const Rule asked = stage_rule(graph_.op(id), how, stage_);
    if (!asked.partial_output && !asked.partial_input_gradient) return {};
    Collectives out = sums(graph_, id, how, unsummed(id, how));
    if (!stage_.sequence_parallel) return out;
    const auto whole = [&](OpId producer) { return placed(producer) == Placement::replicate; };
    if (std::ranges::none_of(producers_, whole))
      for (GroupCollective& sum : out.backward) scatter(sum);
    for (GroupCollective& sum : out.forward) {
      scatter(sum);
      out.backward.push_back(sum);
      out.backward.back().before = true;
      out.backward.back().scatters = false;
    }
    return out;
  }

  /// Bytes per sample that heads on several devices share, where a group has more devices than heads of keys.
  /// Attention shares queries, keys and values; a scan queries and keys.
  core::Bytes shared_bytes(const graph::Operator& op) const {
    if (const auto* a = std::get_if<graph::Attention>(&op.attributes)) {
      const ContextTensors projected = context_tensors(op, graph_.element_bytes());
      return a->key_heads() < stage_.tensor_parallel ? projected.queries + projected.keys_values
                                                     : core::Bytes(0);
    }
    const auto& scan = as<graph::LinearScan>(op);
    if (scan.groups == 0 || scan.groups >= stage_.tensor_parallel) return {};
    return core::Bytes(2 * scan.rows * scan.groups * scan.key * graph_.element_bytes());
  }

  /// These, gathered before the operator; their gradients are summed up behind it.
  Collectives shared_heads(OpId id, Partition how) const {
    const graph::Operator& op = graph_.op(id);
    const core::Bytes shared = how == Partition::column ? shared_bytes(op) : core::Bytes(0);
    if (shared == core::Bytes(0)) return {};
    GroupCollective gather{Kind::all_gather, id, shared, true};
    Collectives out{{gather}, {}};
    gather.before = false;
    gather.scatters = true;
    if (op.weight_gradient_flops.value() + op.input_gradient_flops.value() > 0) out.backward = {gather};
    return out;
  }

  static void scatter(GroupCollective& sum) {
    sum.kind = Kind::all_gather;
    sum.scatters = true;
  }

  /// Inputs to whose gradient this operator adds a term, and no earlier operator does.
  std::vector<OpId> unsummed(OpId id, Partition how) {
    std::vector<OpId> out;
    if (!stage_rule(graph_.op(id), how, stage_).partial_input_gradient) return out;
    for (const OpId producer : producers_) {
      if (graph_.op(producer).kind == OpKind::input || summed_[producer.index()]) continue;
      summed_[producer.index()] = true;
      out.push_back(producer);
    }
    if (!out.empty()) out_.completes[id] = out;
    return out;
  }

  void place(OpId id, OpId producer, Placement to) {
    const Placement from = placed(producer);
    if (from != to && converted_.insert({producer, to}).second)
      out_.collectives.add(convert(graph_, producer, from, to, id));
  }

  void hold(OpId id, OpId producer, Partition how) {
    const bool received = !placed_[producer.index()],
               all_ids = graph_.op(id).kind == OpKind::embedding && how == Partition::row;
    const Placement from = received ? Placement::replicate : placed(producer),
                    to = all_ids ? Placement::replicate : stage_rule(graph_.op(id), how, stage_).reads;
    const bool by_tokens = received ? to == Placement::shard_tokens
                                    : from == Placement::shard_tokens && to == Placement::replicate;
    if (from != to && !(by_tokens && stage_.sequence_parallel)) copies_[{producer, to}].push_back(id);
    if (by_tokens && !received && stage_.sequence_parallel && gathers_for_weights(graph_.op(id), how))
      gathered_[producer].push_back(id);
  }

  /// Experts need the rows that they exchanged instead. Frozen weights need no input.
  static bool gathers_for_weights(const graph::Operator& op, Partition how) {
    return rule(op, how).partial_input_gradient && op.kind != OpKind::experts && graph::weighs(op);
  }

  const graph::OpGraph& graph_;
  const plan::Stage& stage_;
  std::vector<OpId> producers_;                   ///< producers of the current operator, ascending
  std::vector<std::optional<Placement>> placed_;  ///< [operator] none for operators of other stages
  std::map<std::pair<OpId, Placement>, std::vector<OpId>> copies_;
  std::map<OpId, std::vector<OpId>> gathered_;
  std::set<std::pair<OpId, Placement>> converted_;
  std::vector<bool> summed_;  ///< [operator] true if the group already adds up its gradient
  StageLayout out_;
};

}  // namespace

bool sends_own_tokens(const plan::Stage& stage, Partition how) {
  return how == Partition::column && stage.sequence_parallel && stage.expert_parallel > 1;
}

Rule stage_rule(const graph::Operator& op, Partition how, const plan::Stage& stage) {
  Rule out = rule(op, how);
  if (op.kind != OpKind::experts || !sends_own_tokens(stage, how)) return out;
  out.reads = out.makes = Placement::shard_tokens;
  out.partial_output = out.partial_input_gradient = false;
  return out;
}

Placement saved_placement(const graph::Operator& op, Partition how, const plan::Stage& stage) {
  const Rule asked = stage_rule(op, how, stage);
  return asked.partial_output && stage.sequence_parallel ? Placement::shard_tokens : asked.makes;
}

StageLayout infer(const graph::OpGraph& graph, const plan::Stage& stage) {
  if (stage.tensor_parallel == 1)
    return {std::vector<Partition>(stage.operators.size(), Partition::whole), {}, {}, {}, {}};
  return Inference(graph, stage).run();
}

}  // namespace penstock::layout
