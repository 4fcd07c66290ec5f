#include "quantized.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "penstock/core/error.hpp"
#include "penstock/graph/attention_core.hpp"

namespace penstock::cost {
namespace {

using core::Seconds;
using graph::OpKind;
using graph::ProductFormat;

constexpr double kStoredBytes = 2;  // of a number, whatever the format of products
/// Copies that a cast writes: by rows, by columns.
constexpr double kCastCopies = 2;

/// Bytes of a number with its share of the scales.
double bytes_of(ProductFormat products) {
  constexpr double kBits = 8;
  const graph::FormatFacts& format = graph::facts(products);
  return format.bits / kBits + format.scale;
}

double rate_in(ProductFormat products, const cluster::DeviceType& device) {
  return device.peak_rate(plan::rate_of(products)).value();
}

double stored_rate(const cluster::DeviceType& device) {
  return device.peak_rate(cluster::Precision::bf16).value();
}

}  // namespace

double product_ratio(ProductFormat products, const cluster::DeviceType& device, double m, double n,
                     double k) {
  if (products == ProductFormat::stored) return 1;
  const auto roofline = [&](double rate, double operand) {
    const double bytes = (m * k + k * n) * operand + m * n * kStoredBytes;
    return std::max(2 * m * n * k / rate, bytes / device.memory_bandwidth.value());
  };
  return roofline(rate_in(products, device), bytes_of(products)) /
         roofline(stored_rate(device), kStoredBytes);
}

double flops_ratio(const graph::Operator& op, const cluster::DeviceType& device) {
  if (op.products == ProductFormat::stored) return 1;
  const double core = graph::core_share(op);
  return core + (1 - core) * stored_rate(device) / rate_in(op.products, device);
}

OpCasts casts(const graph::OpGraph& graph, core::OpId id, const OpShard& part) {
  const graph::Operator& op = graph.op(id);
  if (op.products == ProductFormat::stored) return {};
  const double element = graph.element_bytes(), read = part.whole_input ? 1 : part.part,
               written = part.whole_output ? 1 : part.part;
  const auto numbers = [&](core::OpId of) {
    return static_cast<double>(graph.op(of).output_bytes.value()) / element;
  };
  const double made = numbers(id) * written;
  if (const auto& e = as<graph::Experts>(op); op.kind == OpKind::experts) {
    // Copied rows and what the last products read; gradients of what either product made.
    const double copies = static_cast<double>(e.rows * e.chosen), hidden = static_cast<double>(e.hidden),
                 inner = static_cast<double>(e.inner), first = inner * static_cast<double>(e.matrices() - 1);
    const bool rows_divided = part.partition == plan::Partition::sequence;
    const double whole_rows = rows_divided ? part.part : 1;
    return {{copies * (hidden * whole_rows + inner * part.part), 2},
            {copies * (hidden * whole_rows + first * part.part), 2}};
  }
  double inputs = 0;
  for (const graph::Vertex v : graph.dag().predecessors(static_cast<graph::Vertex>(id.index())))
    inputs += numbers(core::OpId(static_cast<std::size_t>(v))) * read;
  if (op.kind != OpKind::attention) return {{inputs, 1}, {made, 1}};
  const auto& a = as<graph::Attention>(op);
  const auto queries = static_cast<double>(a.queries), keys = static_cast<double>(a.projected_keys());
  const double context = queries * static_cast<double>(a.result_width()) * part.part,
               projected = (queries * static_cast<double>(a.inner_width()) +
                            keys * static_cast<double>(a.projected_width() + a.values_width())) *
                           part.part;
  return {{inputs + context, 2}, {made + projected, 2}};
}

int cast_launches(ProductFormat products, const CastNumbers& casts) {
  return products == ProductFormat::stored ? 0 : casts.tensors * graph::facts(products).reads;
}

double cast_bytes(ProductFormat products, double numbers) {
  return numbers * (graph::facts(products).reads * kStoredBytes + kCastCopies * bytes_of(products));
}

Seconds weight_cast_time(const Problem& problem, core::Bytes weights, const cluster::DeviceType& device) {
  const ProductFormat products = problem.graph.products();
  // Adapters multiply in the stored numbers, and frozen weights are cast once for the whole training.
  if (products == ProductFormat::stored || problem.graph.adapter_rank() > 0) return Seconds(0);
  const double numbers = static_cast<double>(weights.value()) / problem.graph.element_bytes();
  return Seconds(cast_bytes(products, numbers) /
                 (device.memory_bandwidth.value() * AnalyticConstants().bandwidth_efficiency)) *
         device.slowdown();
}

void require_stored(const CostModel& costs, const graph::Operator& op) {
  if (op.adapter_rank > 0 || op.frozen_format != graph::FrozenFormat::stored)
    throw core::BadInput(
        fmt::format("the {} holds no adapters and no frozen weights in 8 or 4 bits ('{}'): leave --costs out",
                    costs.source(), op.name));
  if (op.products == ProductFormat::stored) return;
  throw core::BadInput(
      fmt::format("the {} holds no products in {} ('{}'): train in mixed_bf16, or leave --costs out",
                  costs.source(), graph::name(op.products), op.name));
}

}  // namespace penstock::cost
