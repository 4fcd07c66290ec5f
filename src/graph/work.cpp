#include "penstock/graph/work.hpp"

#include <algorithm>
#include <vector>

#include "penstock/graph/attention_core.hpp"

namespace penstock::graph {
namespace {

/// Queries of an attention, or of a softmax over a product of two tensors, which shares out attention; 0: of
/// neither.
std::int64_t queries(const OpGraph& graph, core::OpId id) {
  const Operator& op = graph.op(id);
  if (op.kind != OpKind::softmax) return as<Attention>(op).queries;
  for (const Vertex v : graph.dag().predecessors(static_cast<Vertex>(id.index())))
    if (const Operator& from = graph.op(core::OpId(static_cast<std::size_t>(v))); from.kind == OpKind::matmul)
      return as<Matmul>(from).rows;
  return 0;
}

/// Tokens of the longest scan; 0: there is none.
std::int64_t scanned(const OpGraph& graph) {
  std::int64_t out = 0;
  for (const Operator& op : graph.operators()) out = std::max(out, as<LinearScan>(op).rows);
  return out;
}

}  // namespace

core::Flops model_flops(const Operator& op) {
  const core::Flops all = op.forward_flops + op.input_gradient_flops + op.weight_gradient_flops;
  if (!has_core(op)) return all;
  // Scores and context forward; backward a gradient of either operand of both.
  const core::Flops core = op.forward_flops * core_share(op),
                    backward = std::min(core * 2, op.input_gradient_flops);
  return all - (core + backward) * (1 - unmasked_share(as<Attention>(op)));
}

core::Flops training_flops(const OpGraph& graph) {
  core::Flops sum;
  for (const Operator& op : graph.operators()) sum += model_flops(op);
  return sum;
}

std::optional<std::int64_t> tokens(const OpGraph& graph) {
  std::vector<bool> attended(graph.size());  // itself, or something before it
  std::int64_t sum = 0;
  for (std::size_t v = 0; v < graph.size(); ++v) {
    bool before = false;
    for (const Vertex from : graph.dag().predecessors(static_cast<Vertex>(v)))
      before = before || attended[static_cast<std::size_t>(from)];
    const std::int64_t here = queries(graph, core::OpId(v));
    if (!before) sum += here;
    attended[v] = before || here > 0;
  }
  if (sum == 0) sum = scanned(graph);
  return sum > 0 ? std::optional(sum) : std::nullopt;
}

}  // namespace penstock::graph
