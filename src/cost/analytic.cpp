#include "penstock/cost/analytic.hpp"

#include <algorithm>

#include "experts.hpp"
#include "frozen_weights.hpp"
#include "penstock/cost/utilisation.hpp"
#include "penstock/graph/adapters.hpp"
#include "penstock/graph/attention_core.hpp"
#include "penstock/graph/ties.hpp"
#include "quantized.hpp"
#include "scan_kernels.hpp"

namespace penstock::cost {
namespace {

using core::Seconds;
using graph::OpKind;

/// One pass of an operator, for all samples on the device.
struct PassWork {
  double flops;
  double bytes;    ///< read and written
  double outputs;  ///< elements produced: how much parallelism there is
};

/// Kernels a pass launches. Attention: four projections, scores, softmax, context (FlexFlow's cuDNN operator
/// issues as many); everything else is one fused kernel.
double launches(OpKind kind) {
  return kind == OpKind::attention ? 7 : 1;
}

Seconds streamed(const AnalyticConstants& constants, const cluster::DeviceType& device, double bytes) {
  return Seconds(bytes / (constants.streaming
                              ? constants.streaming->bandwidth.value()
                              : device.memory_bandwidth.value() * constants.bandwidth_efficiency));
}
Seconds launch(const AnalyticConstants& constants, const cluster::DeviceType& device) {
  return constants.streaming ? constants.streaming->latency : device.launch_overhead;
}

Seconds computed(const AnalyticConstants& constants, const cluster::DeviceType& device,
                 cluster::Precision precision, double flops, double outputs) {
  if (flops <= 0) return Seconds(0);
  const double half = constants.half_rate_outputs * device.multiprocessors;
  const double split = std::min(half, flops / 2 / constants.split_depth);
  const double parallel = std::max({outputs, split, 1.0});
  const double rate =
      device.peak_rate(precision).value() * constants.compute_efficiency * parallel / (parallel + half);
  return Seconds(flops / rate);
}

Seconds pass_time(const AnalyticConstants& constants, const cluster::DeviceType& device,
                  cluster::Precision precision, OpKind kind, const PassWork& pass) {
  if (pass.flops <= 0 && pass.bytes <= 0) return Seconds(0);
  const Seconds compute = computed(constants, device, precision, pass.flops, pass.outputs);
  return launch(constants, device) * launches(kind) +
         std::max(compute, streamed(constants, device, pass.bytes));
}

/// How often the kernels of plain attention read or write its scores (heads x queries x keys). Forward:
/// written by their product, read and written by scale, mask and softmax in one, read for the context.
/// Backward: written by the shares' gradient, whose partner reads the shares; both read and one written by
/// softmax; read by both gradients of the product.
constexpr double kScoresForward = 4, kScoresBackward = 7;
/// Part of these that is scale, mask and softmax in one: all except what products read and write.
constexpr double kSoftmaxForward = 2, kSoftmaxBackward = 3;

/// Passes over the scores that dropout adds each way: it reads them, writes them, and a byte for each.
double dropout_passes(const graph::Operator& op, double element) {
  return as<graph::Attention>(op).dropout ? 2 + 1 / element : 0;
}

/// Bytes of them per sample; none of another core.
double score_bytes(const graph::Operator& op, double element) {
  const auto& a = as<graph::Attention>(op);
  if (a.core != graph::AttentionCore::plain) return 0;
  return static_cast<double>(a.heads * a.queries * a.keys) * element;
}

/// Bytes that a cross entropy moves for each logit, as Megatron-LM's kernels do, in fp32. Forward: maximum
/// and sum (4 read); difference, exponential and quotient (4 read, 4 written). Backward: the gradient scaled
/// in place. Two-byte logits are cast before (2 read, 4 written), and their gradient behind.
constexpr double kLossForward = 2 * 4 + 3 * 8, kLossBackward = 8, kCast = 6;

/// Products of a flash core's backward pass over those of its forward pass.
constexpr double kFlashBackward = 2.5;

}  // namespace

OpTime AnalyticCosts::loss_time(const graph::OpGraph& graph, core::OpId id, const cluster::DeviceType& device,
                                double samples) const {
  const graph::Operator& op = graph.op(id);
  const auto& loss = as<graph::Softmax>(op);
  const double logits = static_cast<double>(loss.rows * loss.width) * samples;
  const auto time = [&](double each) {
    return pass_time(constants_, device, precision_of(graph, device), op.kind, {0, each * logits, logits});
  };
  const double cast = graph.element_bytes() < 4 ? kCast : 0;
  return {time(kLossForward + cast), time(kLossBackward + cast), {}};
}

Seconds AnalyticCosts::rotary_time(const graph::OpGraph& graph, core::OpId id,
                                   const cluster::DeviceType& device, double samples) const {
  const auto& a = as<graph::Attention>(graph.op(id));
  const int turns = int{a.rotary} + int{a.qk_norm};
  if (turns == 0) return Seconds(0);
  const auto numbers =
      static_cast<double>(a.queries * a.inner_width() + a.projected_keys() * a.shared_width());
  const double bytes = 2 * numbers * graph.element_bytes() * samples;  // read and written
  return (launch(constants_, device) * 2 + streamed(constants_, device, bytes)) * turns;
}

OpTime AnalyticCosts::scores_time(const graph::OpGraph& graph, core::OpId id,
                                  const cluster::DeviceType& device, double samples) const {
  const graph::Operator& op = graph.op(id);
  const Seconds once = streamed(constants_, device, score_bytes(op, graph.element_bytes()) * samples);
  const double dropout = dropout_passes(op, graph.element_bytes());
  return {once * (kScoresForward + dropout), once * (kScoresBackward + dropout), {}};
}

OpTime AnalyticCosts::softmax_time(const graph::OpGraph& graph, core::OpId id,
                                   const cluster::DeviceType& device, double samples) const {
  const Seconds once =
      streamed(constants_, device, score_bytes(graph.op(id), graph.element_bytes()) * samples);
  const double dropout = dropout_passes(graph.op(id), graph.element_bytes());
  return {once * (kSoftmaxForward + dropout), once * (kSoftmaxBackward + dropout), {}};
}

OpTime AnalyticCosts::core_time(const graph::OpGraph& graph, core::OpId id, const cluster::DeviceType& device,
                                std::int64_t samples, const OpShard& part) const {
  const auto& a = as<graph::Attention>(graph.op(id));
  const double n = static_cast<double>(samples) * part.part, queries = static_cast<double>(a.queries),
               keys = static_cast<double>(a.keys), result = static_cast<double>(a.result_width()),
               width = static_cast<double>(a.inner_width()) + result,
               shared = static_cast<double>(a.shared_width() + a.values_width());
  const bool as_run = constants_.flash_as_run && a.core == graph::AttentionCore::flash;
  const double flops = 2 * queries * keys * width * n * (as_run ? graph::unmasked_share(a) : 1),
               bytes = (queries * width + keys * shared) * graph.element_bytes() * n;
  const auto time = [&](double products) {
    return pass_time(constants_, device, precision_of(graph, device), OpKind::matmul,
                     {flops * products, bytes * products, queries * result * n});
  };
  OpTime out = scores_time(graph, id, device, n);
  out.forward += time(1);
  out.input_gradient += time(as_run ? kFlashBackward : 2);
  return out;
}

Seconds AnalyticCosts::core_forward(const graph::OpGraph& graph, core::OpId id,
                                    const cluster::DeviceType& device, std::int64_t samples,
                                    const OpShard& part) const {
  if (part.partition == plan::Partition::batch)
    return core_time(graph, id, device, samples_of(samples, part.part), {}).forward;
  return core_time(graph, id, device, samples, part).forward;
}

OpTime AnalyticCosts::expert_moves(const graph::OpGraph& graph, core::OpId id,
                                   const cluster::DeviceType& device, double samples,
                                   const OpShard& part) const {
  const graph::Operator& op = graph.op(id);
  const ExpertWork work = expert_work(as<graph::Experts>(op), samples, part);
  const auto kernels = expert_kernels(as<graph::Experts>(op));
  const auto time = [&](graph::Pass pass) {
    const double bytes = work.moved[static_cast<std::size_t>(pass)] * graph.element_bytes();
    return launch(constants_, device) * kernels[static_cast<std::size_t>(pass)] +
           streamed(constants_, device, bytes);
  };
  const bool back = op.input_gradient_flops.value() > 0;
  return {time(graph::Pass::forward), back ? time(graph::Pass::input_gradient) : Seconds(0), {}};
}

OpTime AnalyticCosts::cast_time(const graph::OpGraph& graph, core::OpId id, const cluster::DeviceType& device,
                                double samples, const OpShard& part) const {
  const graph::Operator& op = graph.op(id);
  const OpCasts needed = casts(graph, id, part);
  const auto time = [&](const CastNumbers& these) {
    return launch(constants_, device) * cast_launches(op.products, these) +
           streamed(constants_, device, cast_bytes(op.products, these.numbers * samples));
  };
  if (op.products == graph::ProductFormat::stored) return {};
  const bool back = op.input_gradient_flops.value() > 0;
  return {time(needed.inputs), back ? time(needed.gradients) : Seconds(0),
          back || !graph::trains_products(op) ? Seconds(0) : time(needed.gradients)};
}

OpTime AnalyticCosts::adapter_time(const graph::OpGraph& graph, core::OpId id,
                                   const cluster::DeviceType& device, double samples,
                                   const OpShard& part) const {
  const graph::Operator& op = graph.op(id);
  const double element = graph.element_bytes(), rank = static_cast<double>(op.adapter_rank);
  const auto product = [&](double m, double n, double k) {
    return pass_time(constants_, device, precision_of(graph, device), OpKind::matmul,
                     {2 * m * n * k, element * ((m + n) * k + m * n), m * n});
  };
  const auto moved = [&](double numbers) {
    return launch(constants_, device) + streamed(constants_, device, element * numbers);
  };
  constexpr double kScale = 2, kSum = 3;  // numbers read and written for each
  const bool back = op.input_gradient_flops.value() > 0;
  OpTime out;
  for (const graph::AdapterShape& a : graph::adapters(op)) {
    const bool columns = op.kind == OpKind::linear ? part.partition != plan::Partition::row : a.by_columns;
    const double rows = static_cast<double>(a.rows) * samples,
                 in = static_cast<double>(a.in) * (columns ? 1 : part.part),
                 wide = static_cast<double>(a.out) * (columns ? part.part : 1);
    out.forward += product(rows, rank, in) + product(rows, wide, rank) + moved(kScale * rows * wide) +
                   moved(kSum * rows * wide);
    const Seconds thin = moved(kScale * rows * wide) + product(rows, rank, wide);  // gradient of rows x rank
    (back ? out.input_gradient : out.weight_gradient) += thin;
    if (back) out.input_gradient += product(rows, in, rank) + moved(kSum * rows * in);
    out.weight_gradient += product(in, rank, rows) + product(rank, wide, rows);
  }
  return out;
}

OpTime AnalyticCosts::beside_time(const graph::OpGraph& graph, core::OpId id,
                                  const cluster::DeviceType& device, double samples,
                                  const OpShard& part) const {
  const graph::Operator& op = graph.op(id);
  OpTime out = cast_time(graph, id, device, samples, part);
  if (const int matrices = widened_matrices(op); matrices > 0) {
    const Seconds once = launch(constants_, device) * matrices +
                         streamed(constants_, device, widening_bytes(graph, id) * part.part);
    out.forward += once;
    if (op.input_gradient_flops.value() > 0) out.input_gradient += once;
  }
  if (op.adapter_rank == 0) return out;
  const OpTime adapted = adapter_time(graph, id, device, samples, part);
  return {out.forward + adapted.forward, out.input_gradient + adapted.input_gradient,
          out.weight_gradient + adapted.weight_gradient};
}

OpTime AnalyticCosts::experts_time(const graph::OpGraph& graph, core::OpId id,
                                   const cluster::DeviceType& device, double samples,
                                   const OpShard& part) const {
  const graph::Operator& op = graph.op(id);
  const ExpertWork work = expert_work(as<graph::Experts>(op), samples, part);
  const double element = graph.element_bytes();
  const auto products = [&](double m, double n, double k) {
    return pass_time(constants_, device, precision_of(graph, device), OpKind::matmul,
                     {2 * m * n * k, element * (m * k + k * n + m * n), m * n}) *
           product_ratio(op.products, device, m, n, k) * work.experts;
  };
  OpTime out = expert_moves(graph, id, device, samples, part);
  for (const auto& [in, width] : work.layers) {
    out.forward += products(work.rows, width, in);
    if (op.input_gradient_flops.value() > 0) out.input_gradient += products(work.rows, in, width);
    if (graph::weighs(op)) out.weight_gradient += products(in, width, work.rows);
  }
  const OpTime beside = beside_time(graph, id, device, samples, part);
  out.forward += beside.forward;
  out.input_gradient += beside.input_gradient;
  out.weight_gradient += beside.weight_gradient;
  return out;
}

OpTime AnalyticCosts::scan_time(const graph::OpGraph& graph, core::OpId id, const cluster::DeviceType& device,
                                double samples, const OpShard& part, const ProductSeconds& product) const {
  constexpr double kWhole = 4;  // bytes of a number in fp32
  const graph::Operator& op = graph.op(id);
  const double n = samples * part.part, element = graph.element_bytes(),
               rate = device.peak_rate(cluster::Precision::fp32).value() * constants_.compute_efficiency;
  const auto time = [&](const ScanKernel& kernel) {
    Seconds computing(kernel.vector_flops * n / rate);
    for (const graph::Matmul& p : kernel.products)
      computing += product(static_cast<double>(p.batch) * static_cast<double>(p.rows) * n,
                           static_cast<double>(p.columns), static_cast<double>(p.inner));
    const double bytes = (kernel.numbers * element + kernel.whole * kWhole) * n;
    return launch(constants_, device) + std::max(computing, streamed(constants_, device, bytes));
  };
  const ScanKernels kernels = scan_kernels(as<graph::LinearScan>(op));
  OpTime out;
  for (const ScanKernel& kernel : kernels.forward) out.forward += time(kernel);
  if (op.input_gradient_flops.value() <= 0 && !graph::weighs(op)) return out;
  Seconds& backward = op.input_gradient_flops.value() > 0 ? out.input_gradient : out.weight_gradient;
  for (const ScanKernel& kernel : kernels.backward) backward += time(kernel);
  return out;
}

OpTime AnalyticCosts::scan_time(const graph::OpGraph& graph, core::OpId id, const cluster::DeviceType& device,
                                double samples, const OpShard& part) const {
  const cluster::Precision precision = precision_of(graph, device);
  return scan_time(graph, id, device, samples, part, [&](double rows, double columns, double inner) {
    return computed(constants_, device, precision, 2 * rows * columns * inner, rows * columns);
  });
}

OpTime AnalyticCosts::op_time(const graph::OpGraph& graph, core::OpId id, const cluster::DeviceType& device,
                              std::int64_t samples) const {
  return part_time(graph, id, device, samples, {});
}

OpTime AnalyticCosts::part_time(const graph::OpGraph& graph, core::OpId id, const cluster::DeviceType& device,
                                std::int64_t samples, const OpShard& part) const {
  const graph::Operator& op = graph.op(id);
  if (op.kind == OpKind::input || op.kind == OpKind::reshape) return {};
  if (part.partition == plan::Partition::batch)
    return op_time(graph, id, device, samples_of(samples, part.part));
  if (op.kind == OpKind::experts && as<graph::Experts>(op).chosen > 0)
    return experts_time(graph, id, device, static_cast<double>(samples), part);
  if (op.kind == OpKind::scan && as<graph::LinearScan>(op).chunk > 0)
    return scan_time(graph, id, device, static_cast<double>(samples), part);
  if (graph::is_loss(op)) return loss_time(graph, id, device, static_cast<double>(samples) * part.part);
  const double n = static_cast<double>(samples), element = graph.element_bytes();
  double input = 0;
  for (graph::Vertex v : graph.dag().predecessors(static_cast<graph::Vertex>(id.index())))
    input += static_cast<double>(graph.op(core::OpId(static_cast<std::size_t>(v))).output_bytes.value());
  if (!part.whole_input) input *= part.part;
  const double output = static_cast<double>(op.output_bytes.value()) * (part.whole_output ? 1 : part.part);
  const auto owner = graph.owner(id);  // whose weights a tied operator uses
  const double parameters =
      static_cast<double>((op.adapter_rank > 0 ? 0 : graph.op(owner).parameters) + op.frozen_parameters) *
      part.part;
  const double weights =
      op.gathered_parameters > 0 ? static_cast<double>(op.gathered_parameters) * n * part.part : parameters;
  const double dropped =  // a byte for each number
      as<graph::Elementwise>(op).dropout ? output / element : 0;
  const double moved = (input + output + dropped) * n + element * weights;

  const double ratio = flops_ratio(op, device);
  const core::Flops adapted = graph::adapter_flops(op);
  const auto of_products = [&](core::Flops all) { return std::max(all - adapted, core::Flops(0)); };
  const auto time = [&](core::Flops flops, double bytes, double outputs) {
    return pass_time(constants_, device, precision_of(graph, device), op.kind,
                     {flops.value() * n * part.part * ratio, bytes, outputs});
  };
  OpTime out = beside_time(graph, id, device, n, part);
  out.forward += time(of_products(op.forward_flops), moved, output * n / element);
  if (op.input_gradient_flops.value() > 0 || !graph::weighs(op))
    out.input_gradient += time(of_products(op.input_gradient_flops), moved, input * n / element);
  if (graph::trains_products(op)) out.weight_gradient += time(op.weight_gradient_flops, moved, parameters);
  const OpTime scores = scores_time(graph, id, device, n * part.part);
  const Seconds turned = rotary_time(graph, id, device, n * part.part);
  out.forward += scores.forward + turned;
  if (out.input_gradient > Seconds(0)) out.input_gradient += scores.input_gradient + turned;
  return out;
}

}  // namespace penstock::cost
