#include "penstock/layout/convert.hpp"

namespace penstock::layout {
namespace {

using core::Bytes;
using core::OpId;
using TransferKind = GroupCollective::TransferKind;

bool has_gradient(const graph::Operator& op) {
  return op.kind != graph::OpKind::input;
}

void push(std::vector<GroupCollective>& list, TransferKind kind, OpId op, Bytes bytes, bool before = false) {
  if (bytes.value() > 0) list.push_back({kind, op, bytes, before});
}

/// Inputs of an operator, each once.
std::vector<OpId> inputs_of(const graph::OpGraph& graph, OpId id) {
  std::vector<OpId> out;
  for (const graph::Vertex v : graph.dag().predecessors(static_cast<graph::Vertex>(id.index())))
    out.emplace_back(static_cast<std::size_t>(v));
  return out;
}

}  // namespace

void GroupCollectives::add(const GroupCollectives& more) {
  forward.insert(forward.end(), more.forward.begin(), more.forward.end());
  backward.insert(backward.end(), more.backward.begin(), more.backward.end());
}

GroupCollectives sums(const graph::OpGraph& graph, OpId id, plan::Partition how,
                      std::span<const OpId> inputs) {
  const PlacementRule asked = rule(graph.op(id), how);
  GroupCollectives out;
  if (asked.partial_output) push(out.forward, TransferKind::all_reduce, id, graph.op(id).output_bytes);
  for (const OpId input : inputs)
    if (asked.partial_input_gradient && has_gradient(graph.op(input)))
      push(out.backward, TransferKind::all_reduce, id, graph.op(input).output_bytes);
  return out;
}

GroupCollectives sums(const graph::OpGraph& graph, OpId id, plan::Partition how) {
  return sums(graph, id, how, inputs_of(graph, id));
}

GroupCollectives convert(const graph::OpGraph& graph, OpId producer, Placement from, Placement to,
                         OpId reader) {
  GroupCollectives out;
  if (from == to) return out;
  const Bytes bytes = graph.op(producer).output_bytes;
  const bool back = has_gradient(graph.op(producer));
  if (from == Placement::replicate) {
    if (back) push(out.backward, TransferKind::all_gather, reader, bytes);
  } else if (to == Placement::replicate) {
    push(out.forward, TransferKind::all_gather, reader, bytes, true);
  } else if (from != Placement::sharded) {
    push(out.forward, TransferKind::all_to_all, reader, bytes, true);
    if (back) push(out.backward, TransferKind::all_to_all, reader, bytes);
  }
  return out;
}

}  // namespace penstock::layout
