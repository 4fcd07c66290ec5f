#include <algorithm>

#include "frozen_weights.hpp"
#include "penstock/cost/cost_model.hpp"
#include "penstock/graph/adapters.hpp"
#include "scan_kernels.hpp"

namespace penstock::cost {
namespace {

using core::Bytes;
using graph::Operator;
using graph::OpKind;

BackwardScratch of_attention(const graph::Attention& a, std::int64_t element_bytes) {
  const auto each = [&](std::int64_t elements) { return MemoryLine{{}, Bytes(elements * element_bytes)}; };
  const std::int64_t scores = a.core == graph::AttentionCore::flash ? 0 : a.heads * a.queries * a.keys,
                     keys_values = a.shared_width() + a.values_width(),
                     projected = a.queries * a.inner_width() + a.keys * keys_values,
                     given = (a.keys - a.projected_keys()) * keys_values;
  return {each(a.queries * a.result_width() + scores + given), {}, each(projected)};
}

/// Scratch of a cross entropy beside the kept 4 bytes per logit and the gradient. Megatron-LM's fused one
/// (megatron/core/fusions/fused_cross_entropy.py): compiled, its in-place steps make a copy of the logits in
/// fp32, as its tests measured; later sources note and avoid that copy. PyTorch's: gradients of the negative
/// log likelihood and of the log-softmax, both in fp32, before they are cast.
BackwardScratch of_loss(const graph::Softmax& loss, std::int64_t element_bytes) {
  std::int64_t each = 0;
  if (loss.loss == graph::LossKernel::native) each = 4;
  if (loss.loss == graph::LossKernel::torch) each = 8 - element_bytes;
  return {{{}, Bytes(loss.rows * loss.width * each)}, {}, {}};
}

/// Gradients of copied rows, those that come and those that are made; of what the first products made.
BackwardScratch of_experts(const graph::Experts& e, std::int64_t element_bytes) {
  const std::int64_t copies = e.rows * e.chosen * element_bytes;
  const MemoryLine rows{{}, Bytes(copies * e.hidden)},
      first{{}, Bytes(copies * (e.matrices() - 1) * e.inner)};
  return {{{}, rows.each * 2}, rows, first};
}

BackwardScratch of_scan(const graph::LinearScan& scan, std::int64_t element_bytes) {
  constexpr std::int64_t kWhole = 4;  // bytes of a number in fp32
  const ScanScratch held = scan_scratch(scan);
  return {{{},
           Bytes(static_cast<std::int64_t>(held.numbers) * element_bytes +
                 static_cast<std::int64_t>(held.whole) * kWhole)},
          {},
          {}};
}

BackwardScratch scratch_of_kind(const graph::OpGraph& graph, core::OpId id) {
  const Operator& op = graph.op(id);
  if (op.kind == OpKind::attention) return of_attention(as<graph::Attention>(op), graph.element_bytes());
  if (op.kind == OpKind::experts) return of_experts(as<graph::Experts>(op), graph.element_bytes());
  if (op.kind == OpKind::scan) return of_scan(as<graph::LinearScan>(op), graph.element_bytes());
  if (graph::is_loss(op)) return of_loss(as<graph::Softmax>(op), graph.element_bytes());
  if (op.kind == OpKind::norm) return {{}, {}, {graph.parameter_bytes(id), {}}};
  if (as<graph::Linear>(op).function == graph::Function::none) return {};
  const MemoryLine argument{{}, op.output_bytes};
  return {argument, argument, {}};
}

/// Scratch of products whose weights are frozen. Weights in 16 bits while a product reads them. Of adapters, the
/// scaled gradient of the output or their term of the input's gradient, and again the former for the weights.
BackwardScratch of_frozen(const graph::OpGraph& graph, core::OpId id) {
  const std::int64_t element = graph.element_bytes();
  std::int64_t made = 0, both = 0;
  for (const graph::AdapterShape& a : graph::adapters(graph.op(id))) {
    made = std::max(made, a.rows * a.out);
    both = std::max(both, a.rows * std::max(a.in, a.out));
  }
  return {{widened_bytes(graph, id), Bytes(both * element)}, {{}, Bytes(made * element)}, {}};
}

}  // namespace

BackwardScratch plain_scratch(const graph::OpGraph& graph, core::OpId id) {
  BackwardScratch out = scratch_of_kind(graph, id);
  const BackwardScratch frozen = of_frozen(graph, id);
  out.input_gradient += frozen.input_gradient;
  out.weight_gradient += frozen.weight_gradient;
  return out;
}

}  // namespace penstock::cost
