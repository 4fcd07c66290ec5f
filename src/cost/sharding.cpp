#include "penstock/cost/sharding.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace penstock::cost {
namespace {

using core::Bytes;
using core::OpId;
using graph::OpKind;
using plan::Partition;
using Kind = GroupCollective::Kind;

/// Mixes all features of its input, so that a divided output needs the whole input, or a divided input makes
/// part of the sum. What a profile knows by name alone is taken for a matrix where it has weights.
bool mixes(const graph::Operator& op) {
  const bool matrix =
      op.kind == OpKind::linear || op.kind == OpKind::convolution || op.kind == OpKind::embedding;
  return matrix || op.kind == OpKind::attention || (op.kind == OpKind::profiled && op.parameters > 0);
}

bool needs_gradient(const graph::Operator& op) {
  return op.kind != OpKind::input;
}

void add(std::vector<GroupCollective>& list, Kind kind, OpId op, Bytes bytes) {
  if (bytes.value() > 0) list.push_back({kind, op, bytes});
}

std::set<OpId> producers(const graph::OpGraph& graph, OpId id) {
  std::set<OpId> out;
  for (graph::Vertex v : graph.dag().predecessors(static_cast<graph::Vertex>(id.index())))
    out.insert(OpId(static_cast<std::size_t>(v)));
  return out;
}

class Divider {
 public:
  Divider(const graph::OpGraph& graph, const plan::Stage& stage)
      : graph_(graph), stage_(stage), inside_(stage.operators.begin(), stage.operators.end()) {}

  Sharding divide() {
    for (const OpId id : stage_.operators) {
      const auto chosen = stage_.partition.find(id);
      const Partition how = chosen != stage_.partition.end() ? chosen->second : rule(id);
      out_.partition.push_back(how);
      layout_[id] = held(graph_.op(id), how, stage_);
      append(own(id, how));
      for (const OpId producer : producers(graph_, id)) convert(id, producer, needed(graph_.op(id), how));
      if (layout_[id] == Layout::whole && leaves(id))
        add(out_.backward, Kind::gather, id, graph_.op(id).output_bytes);
    }
    return std::move(out_);
  }

 private:
  bool leaves(OpId id) const {
    const auto readers = graph_.dag().successors(static_cast<graph::Vertex>(id.index()));
    return std::any_of(readers.begin(), readers.end(),
                       [&](graph::Vertex v) { return !inside_.contains(OpId(static_cast<std::size_t>(v))); });
  }
  Layout layout(OpId producer) const {
    const auto found = layout_.find(producer);
    return found == layout_.end() ? Layout::sliced : found->second;
  }

  /// Megatron-LM's.
  Partition rule(OpId id) const {
    const graph::Operator& op = graph_.op(id);
    if (op.kind == OpKind::input) return Partition::whole;
    if (op.kind == OpKind::embedding) return Partition::input;
    if (op.kind == OpKind::attention) return Partition::output;
    std::size_t whole = 0, batch = 0, features = 0;
    for (const OpId producer : producers(graph_, id)) {
      const Layout lies = layout(producer);
      whole += lies == Layout::whole || lies == Layout::sliced || lies == Layout::sequence;
      batch += lies == Layout::batch;
      features += lies == Layout::features;
    }
    if (batch > 0 && whole + features == 0) return Partition::batch;
    if (mixes(op)) return features > 0 && whole + batch == 0 ? Partition::input : Partition::output;
    if (features > 0 && whole + batch == 0) return Partition::output;
    return stage_.sequence_parallel ? Partition::sequence : Partition::whole;
  }

  /// Partial sums of tensors that are held by tokens are scattered as they are added, and come together
  /// again on the way back: half of an all-reduce each.
  Collectives own(OpId id, Partition how) const {
    Collectives out = own_collectives(graph_, id, how);
    if (!stage_.sequence_parallel) return out;
    const auto read = producers(graph_, id);
    if (std::ranges::none_of(read, [&](OpId producer) { return layout(producer) == Layout::whole; }))
      for (GroupCollective& sum : out.backward) sum.kind = Kind::gather;
    for (GroupCollective& sum : out.forward) {
      sum.kind = Kind::gather;
      out.backward.push_back(sum);
    }
    return out;
  }

  void append(const Collectives& more) {
    out_.forward.insert(out_.forward.end(), more.forward.begin(), more.forward.end());
    out_.backward.insert(out_.backward.end(), more.backward.begin(), more.backward.end());
  }
  void convert(OpId id, OpId producer, Layout to) {
    const Layout from = layout(producer);
    if (from != to && converted_.insert({producer, to}).second)
      append(conversion(graph_, producer, from, to, id));
  }

  const graph::OpGraph& graph_;
  const plan::Stage& stage_;
  std::set<OpId> inside_;
  std::map<OpId, Layout> layout_;
  std::set<std::pair<OpId, Layout>> converted_;
  Sharding out_;
};

}  // namespace

Layout needed(const graph::Operator& op, Partition how) {
  if (how == Partition::whole) return Layout::whole;
  if (how == Partition::batch) return Layout::batch;
  if (how == Partition::sequence) return Layout::sequence;
  if (op.kind == OpKind::attention) return Layout::whole;
  return mixes(op) && how == Partition::output ? Layout::whole : Layout::features;
}

Layout made(const graph::Operator& op, Partition how) {
  if (how == Partition::whole) return Layout::whole;
  if (how == Partition::batch) return Layout::batch;
  if (how == Partition::sequence) return Layout::sequence;
  if (op.kind == OpKind::attention) return Layout::whole;
  return mixes(op) && how == Partition::input ? Layout::whole : Layout::features;
}

Layout held(const graph::Operator& op, Partition how, const plan::Stage& stage) {
  const Layout out = made(op, how);
  const bool sum = out == Layout::whole && how != Partition::whole;
  return sum && stage.sequence_parallel ? Layout::sequence : out;
}

Collectives own_collectives(const graph::OpGraph& graph, OpId id, Partition how) {
  const graph::Operator& op = graph.op(id);
  Collectives out;
  const bool sums = how == Partition::output || how == Partition::input;
  if (!mixes(op) || !sums) return out;
  if (how == Partition::input || op.kind == OpKind::attention)
    add(out.forward, Kind::all_reduce, id, op.output_bytes);
  if (how == Partition::input && op.kind != OpKind::attention) return out;
  Bytes read;
  for (const OpId producer : producers(graph, id))
    if (needs_gradient(graph.op(producer))) read += graph.op(producer).output_bytes;
  add(out.backward, Kind::all_reduce, id, read);
  return out;
}

Collectives conversion(const graph::OpGraph& graph, OpId producer, Layout from, Layout to, OpId reader) {
  Collectives out;
  if (from == to) return out;
  const Bytes bytes = graph.op(producer).output_bytes;
  const bool back = needs_gradient(graph.op(producer));
  if (from == Layout::whole) {
    if (back) add(out.backward, Kind::gather, reader, bytes);
  } else if (to == Layout::whole) {
    add(out.forward, Kind::gather, reader, bytes);
  } else if (from != Layout::sliced) {
    add(out.forward, Kind::exchange, reader, bytes);
    if (back) add(out.backward, Kind::exchange, reader, bytes);
  }
  return out;
}

Sharding sharding(const graph::OpGraph& graph, const plan::Stage& stage) {
  if (stage.tensor_parallel == 1)
    return {std::vector<Partition>(stage.operators.size(), Partition::whole), {}, {}};
  return Divider(graph, stage).divide();
}

OpPart op_part(const graph::Operator& op, Partition how, double part) {
  if (how == Partition::whole) return {};
  // A part of the tokens is as many numbers as that part of the features.
  if (how == Partition::sequence) return {Partition::output, part, false, false};
  return {how, part, needed(op, how) == Layout::whole, made(op, how) == Layout::whole};
}

}  // namespace penstock::cost
