#include "penstock/cost/cost_model.hpp"
#include "scan_kernels.hpp"

namespace penstock::cost {
namespace {

using core::Bytes;
using graph::Operator;
using graph::OpKind;

Scratch of_attention(const graph::Attention& a, std::int64_t element_bytes) {
  const auto each = [&](std::int64_t elements) { return Line{{}, Bytes(elements * element_bytes)}; };
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
Scratch of_loss(const graph::Softmax& loss, std::int64_t element_bytes) {
  std::int64_t each = 0;
  if (loss.loss == graph::LossKernel::native) each = 4;
  if (loss.loss == graph::LossKernel::torch) each = 8 - element_bytes;
  return {{{}, Bytes(loss.rows * loss.width * each)}, {}, {}};
}

/// Gradients of copied rows, those that come and those that are made; of what the first products made.
Scratch of_experts(const graph::Experts& e, std::int64_t element_bytes) {
  const std::int64_t copies = e.rows * e.chosen * element_bytes;
  const Line rows{{}, Bytes(copies * e.hidden)}, first{{}, Bytes(copies * (e.matrices() - 1) * e.inner)};
  return {{{}, rows.each * 2}, rows, first};
}

Scratch of_scan(const graph::LinearScan& scan, std::int64_t element_bytes) {
  constexpr std::int64_t kWhole = 4;  // bytes of a number in fp32
  const ScanScratch held = scan_scratch(scan);
  return {{{},
           Bytes(static_cast<std::int64_t>(held.numbers) * element_bytes +
                 static_cast<std::int64_t>(held.whole) * kWhole)},
          {},
          {}};
}

}  // namespace

Scratch plain_scratch(const graph::OpGraph& graph, core::OpId id) {
  const Operator& op = graph.op(id);
  if (op.kind == OpKind::attention) return of_attention(as<graph::Attention>(op), graph.element_bytes());
  if (op.kind == OpKind::experts) return of_experts(as<graph::Experts>(op), graph.element_bytes());
  if (op.kind == OpKind::scan) return of_scan(as<graph::LinearScan>(op), graph.element_bytes());
  if (graph::is_loss(op)) return of_loss(as<graph::Softmax>(op), graph.element_bytes());
  if (op.kind == OpKind::norm) return {{}, {}, {graph.parameter_bytes(id), {}}};
  if (as<graph::Linear>(op).function == graph::Function::none) return {};
  const Line argument{{}, op.output_bytes};
  return {argument, argument, {}};
}

}  // namespace penstock::cost
