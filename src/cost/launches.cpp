#include "penstock/cost/launches.hpp"

#include <algorithm>

#include "experts.hpp"
#include "frozen_weights.hpp"
#include "penstock/cost/unfused.hpp"
#include "penstock/graph/adapters.hpp"
#include "quantized.hpp"
#include "scan_kernels.hpp"

namespace penstock::cost {
namespace {

using graph::OpKind;

/// Attention with its projections of query, key and value in one product. Kernel by kernel: product and bias,
/// three transpositions, scores, scale with mask, softmax, context, transposition, product and bias.
constexpr LaunchCounts kPlainAttention{12, 15, 4}, kFlashAttention{5, 6, 4};
constexpr int kPlainCore = 5, kFlashCore = 1;

/// Launches that a softmax that is not fused adds: cast to fp32, scale, mask, cast back.
constexpr int kUnfused = 4;
constexpr int kWhole = 4;  // bytes of a number in fp32
constexpr std::int64_t kFusedSoftmax = 4;
/// A cross entropy kernel by kernel. Forward: cast; maximum over the vocabulary and over devices, difference.
/// Three for the mask of targets that other devices have, three for these targets' places; five for the
/// targets' logits, with their sum over devices. Exponential, sum, sum over devices, logarithm, difference,
/// quotient; six for the mean and its average over replicas, two for its scale. Backward: six where targets
/// are, the scale, the cast; four of the mean.
constexpr LaunchCounts kLoss{30, 12, 0};
/// A batch, at the first input: copied to the device, handed to the group, cut into tokens and labels; masks
/// and positions made again. Any other input is one copy.
constexpr int kBatch = 11;
/// Attention's two biases, each way.
constexpr int kBiases = 2;

bool flash(const graph::Operator& op) {
  return as<graph::Attention>(op).core == graph::AttentionCore::flash;
}
/// Two where it is not stated.
int terms(const graph::Operator& op) {
  const std::int64_t said = as<graph::Elementwise>(op).terms;
  return said > 0 ? static_cast<int>(said) : 2;
}

LaunchCounts expert_launches(const graph::Experts& e) {
  // One call for all experts: Transformer Engine's GroupedLinear loops over them without PyTorch.
  const int products = kExpertProducts;
  const auto [forward, backward] = expert_kernels(e);
  return {forward + products, backward + products, products};
}

/// One pass makes all gradients.
LaunchCounts scan_launches(const graph::LinearScan& s) {
  const ScanKernels kernels = scan_kernels(s);
  return {static_cast<int>(kernels.forward.size()), static_cast<int>(kernels.backward.size()), 0};
}

/// Kernels of one pass where the operator has it.
LaunchCounts kernels(const graph::Operator& op) {
  switch (op.kind) {
    case OpKind::input:
      return {1, 0, 0};
    case OpKind::softmax:
      return graph::is_loss(op) ? kLoss : LaunchCounts{1, 1, 0};
    case OpKind::reshape:
    case OpKind::profiled:
      return {};
    case OpKind::attention:
      return flash(op) ? kFlashAttention : kPlainAttention;
    case OpKind::experts:
      return expert_launches(as<graph::Experts>(op));
    case OpKind::scan:
      return scan_launches(as<graph::LinearScan>(op));
    case OpKind::short_convolution:
      return {1, 1, 0};
    case OpKind::linear:
      return {1, 1, as<graph::Linear>(op).bias ? 2 : 1};
    case OpKind::convolution:
      return {1, 1, as<graph::Convolution>(op).bias ? 2 : 1};
    case OpKind::matmul:
      return {1, 2, 0};
    case OpKind::concat:
      return {1, std::max(1, static_cast<int>(as<graph::Concat>(op).widths.size())), 0};
    case OpKind::elementwise:
      return {terms(op) - 1, as<graph::Elementwise>(op).dropout ? 1 : 0, 0};  // else gradients are handed on
    default:
      return {1, 1, 1};
  }
}

/// Launches of the softmax where it is not fused.
int apart_softmax(const graph::Operator& op, std::int64_t matrices) {
  return as<graph::Attention>(op).core == graph::AttentionCore::plain && matrices % kFusedSoftmax != 0
             ? kUnfused
             : 0;
}

/// Kernels of dropout in a plain core, each way.
int dropping(const graph::Operator& op) {
  return op.kind == OpKind::attention && as<graph::Attention>(op).dropout && !flash(op) ? 1 : 0;
}

/// Adapters: two products, scale, sum; gradients of these; of both matrices, and no other. Frozen weights are widened
/// each way.
void add_frozen(LaunchCounts& out, const graph::Operator& op) {
  const int adapters = static_cast<int>(graph::adapters(op).size()), widened = widened_matrices(op);
  out.forward += 4 * adapters + widened;
  out.input_gradient += 4 * adapters + widened;
  if (adapters > 0) out.weight_gradient = 2 * adapters;
}

}  // namespace

bool fetches_batch(const graph::OpGraph& graph, core::OpId id) {
  if (graph.op(id).kind != OpKind::input) return false;
  for (std::size_t i = 0; i < id.index(); ++i)
    if (graph.op(core::OpId(i)).kind == OpKind::input) return false;
  return true;
}

LaunchCounts launches(const graph::OpGraph& graph, core::OpId id, std::int64_t matrices,
                      const cluster::FrameworkRuntime& runtime) {
  const graph::Operator& op = graph.op(id);
  LaunchCounts out = kernels(op);
  const LaunchCounts more = unfused_launches(op, runtime);
  out.forward += more.forward;
  out.input_gradient += more.input_gradient;
  out.weight_gradient += more.weight_gradient;
  const OpCasts cast = casts(graph, id, {});
  out.forward += cast_launches(op.products, cast.inputs);
  out.input_gradient += cast_launches(op.products, cast.gradients);
  add_frozen(out, op);
  if (fetches_batch(graph, id)) out.forward = kBatch;
  if (const auto& a = as<graph::Attention>(op); op.kind == OpKind::attention && !a.bias) {
    const int none = a.qkv_bias ? kBiases - 1 : kBiases;
    out.forward -= none;
    if (graph::trains_products(op)) out.weight_gradient -= none;
  }
  if (graph::is_loss(op) && graph.element_bytes() >= kWhole) {  // nothing to cast
    out.forward -= 1;
    out.input_gradient -= 1;
  }
  for (const bool each : {as<graph::Attention>(op).rotary, as<graph::Attention>(op).qk_norm})
    if (each) {  // queries, keys
      out.forward += 2;
      out.input_gradient += 2;
    }
  out.forward += apart_softmax(op, matrices) + dropping(op);
  out.input_gradient += apart_softmax(op, matrices) + dropping(op);
  const bool core = op.adapter_rank > 0 && op.kind == OpKind::attention;  // has gradients of its own
  if (!graph.trains_above(id) && !core) out.input_gradient = 0;
  if (!graph::weighs(op)) out.weight_gradient = 0;
  return out;
}

int core_launches(const graph::OpGraph& graph, core::OpId id, std::int64_t matrices) {
  const graph::Operator& op = graph.op(id);
  return flash(op) ? kFlashCore : kPlainCore + apart_softmax(op, matrices) + dropping(op);
}

}  // namespace penstock::cost
