#include "split_release.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "penstock/cost/backward_sweep.hpp"
#include "penstock/graph/adapters.hpp"
#include "penstock/graph/attention_core.hpp"
#include "penstock/graph/in_place.hpp"

namespace penstock::cost {
namespace {

using cluster::SplitBackward;
using core::Bytes;
using core::OpId;

using Marks = std::vector<char>;  ///< [operator of the graph]

Marks marked(const graph::OpGraph& graph, std::span<const OpId> operators) {
  Marks out(graph.size());
  for (const OpId id : operators) out[id.index()] = 1;
  return out;
}

/// Tensors that products of weights read, and those whose memory these share.
std::vector<OpId> product_inputs(const graph::OpGraph& graph, std::span<const OpId> operators) {
  std::vector<OpId> out;
  for (const OpId id : operators) {
    if (!waits_for_weights(graph.op(id), SplitBackward::operands)) continue;
    for (const graph::Vertex v : graph.dag().predecessors(static_cast<graph::Vertex>(id.index())))
      for (std::optional<OpId> read = OpId(static_cast<std::size_t>(v)); read;
           read = graph::lies_on(graph, *read))
        out.push_back(*read);
  }
  return out;
}

Bytes loss_bytes(const graph::OpGraph& graph, std::span<const OpId> operators,
                 const ActivationsOf& activations_of) {
  Bytes out;
  for (const OpId id : operators)
    if (graph::is_loss(graph.op(id))) out += activations_of(id).all;
  return out;
}

}  // namespace

Bytes operand_bytes(const graph::Operator& op, int element_bytes) {
  const auto bytes = [&](std::int64_t numbers) {
    return op.products == graph::ProductFormat::stored || op.adapter_rank > 0
               ? Bytes(numbers * element_bytes)
               : graph::quantized_bytes(op.products, numbers);
  };
  const std::int64_t adapted = graph::adapter_saved(op);
  if (const auto& a = as<graph::Attention>(op); op.kind == graph::OpKind::attention)
    return bytes(a.queries * a.result_width() + adapted);
  if (const auto& e = as<graph::Experts>(op); op.kind == graph::OpKind::experts)
    return bytes(e.rows * e.chosen * (e.hidden + e.inner));
  return bytes(adapted);
}

ActivationsOf whole_activations(const Problem& problem) {
  return [&problem](OpId id) {
    const graph::Operator& op = problem.graph.op(id);
    const int each = problem.graph.element_bytes();
    return ActivationBytes{saved_bytes(problem, op), op.output_bytes, graph::core_bytes(op, each),
                           operand_bytes(op, each)};
  };
}

Bytes released(const graph::OpGraph& graph, std::span<const OpId> operators, const StageLoad& load,
               const ActivationsOf& activations_of, std::span<const OpId> cores) {
  if (load.framework.split == SplitBackward::all_saved) return loss_bytes(graph, operators, activations_of);
  const std::vector<OpId> inputs = product_inputs(graph, operators);
  const Marks read = marked(graph, inputs), inside = marked(graph, operators);
  const bool reads_inputs = std::ranges::any_of(inputs, [&](OpId id) { return inside[id.index()] == 0; });
  Bytes out = reads_inputs ? Bytes(0) : load.inputs;
  for (const OpId id : operators) {
    const ActivationBytes a = activations_of(id);
    Bytes stays = read[id.index()] != 0 ? std::min(a.output, a.all) : Bytes(0);
    if (graph::weighs(graph.op(id))) stays += a.operands;
    if (std::ranges::binary_search(cores, id)) stays += std::min(a.core, a.all);
    out += std::max(Bytes(0), a.all - stays);
  }
  return out;
}

}  // namespace penstock::cost
