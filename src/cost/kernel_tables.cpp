#include "penstock/cost/kernel_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experts.hpp"
#include "frozen_weights.hpp"
#include "penstock/cluster/catalogue.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/letters.hpp"
#include "penstock/graph/adapters.hpp"
#include "penstock/graph/attention_core.hpp"
#include "quantized.hpp"

namespace penstock::cost {
namespace {

using core::Seconds;
using graph::AttentionCore;
using graph::OpKind;

/// Attention over its own sequence, or a shard of it by tokens (layout/context.hpp, layout/lengths.hpp).
bool self_attention(const graph::Operator& op) {
  const auto& a = as<graph::Attention>(op);
  return a.queries == a.keys || a.own_keys != 0;
}

/// The size of the tables' numbers.
constexpr int kElement = 2;

/// Extents that differ by less are one.
constexpr double kSameExtent = 1e-9;

TimeOrigin origin_of(double at, double low, double high) {
  if (std::abs(at - low) < kSameExtent || std::abs(at - high) < kSameExtent) return TimeOrigin::measured;
  return at > low && at < high ? TimeOrigin::interpolated : TimeOrigin::extrapolated;
}

/// Where `at` lies between two neighbours of `knots`, ascending: both, and the share of the upper one.
struct KnotInterval {
  double low, high, share;
  TimeOrigin origin;
};
KnotInterval between(const std::set<double>& knots, double at) {
  const auto above = knots.lower_bound(at - kSameExtent);
  if (above == knots.begin()) return {*above, *above, 0, origin_of(at, *above, *above)};
  if (above == knots.end()) return {*knots.rbegin(), *knots.rbegin(), 0, TimeOrigin::extrapolated};
  const double low = *std::prev(above), high = *above;
  return {low, high, (at - low) / (high - low), origin_of(at, low, high)};
}

RateGrid::TableRate along_cell(const std::map<double, double>& cell, double at) {
  const auto above = cell.lower_bound(at - kSameExtent);
  if (above == cell.begin()) return {above->second, origin_of(at, above->first, above->first)};
  const auto below = std::prev(above);
  if (above == cell.end()) return {below->second, TimeOrigin::extrapolated};
  const double share = (at - below->first) / (above->first - below->first);
  return {below->second + (above->second - below->second) * share, origin_of(at, below->first, above->first)};
}

PassEstimate exactly(Seconds time, TimeOrigin origin) {
  return {time, time, time, origin};
}

OpEstimate all_of(const OpTime& time, TimeOrigin origin) {
  return {{exactly(time.forward, origin), exactly(time.input_gradient, origin),
           exactly(time.weight_gradient, origin)}};
}

/// "NVIDIA A100-SXM4-80GB" is an a100.
bool is_called(const std::string& device, const cluster::DeviceType& type) {
  return core::lower_case(device).find(core::lower_case(type.name)) != std::string::npos;
}

double product_flops(double m, double n, double k) {
  return 2 * m * n * k;
}

}  // namespace

double least_flops(const ProductTime& product) {
  return product_flops(static_cast<double>(product.m), static_cast<double>(product.n),
                       static_cast<double>(product.k));
}

double least_flops(const AttentionTime& attention) {
  const auto sequence = static_cast<double>(attention.sequence);
  return 2.0 * static_cast<double>(attention.batch) * sequence * sequence *
         static_cast<double>(attention.heads) * static_cast<double>(attention.head_size);
}

double least_sent(const cluster::CollectiveTime& collective) {
  // Each of n ranks keeps an n-th of its bytes, whatever the collective: bytes (n - 1) / n.
  const auto ranks = static_cast<double>(collective.ranks);
  return static_cast<double>(collective.bytes) * (ranks - 1) / ranks;
}

namespace {

/// Five products where the forward pass has two, at 63 % of an A100's peak instead of 73 %.
constexpr double kBackwardProducts = 5.0 / 2 * 73 / 63;

PassEstimate product_at(const RateGrid& rates, double m, double n, double k) {
  const RateGrid::TableRate rate = rates.rate(n, k, m);
  return exactly(Seconds(product_flops(m, n, k) / rate.value), rate.origin);
}

/// Half of scores and context, since it is causal.
double attention_flops(double batch_heads, double queries, double keys, double head_size) {
  return 2 * batch_heads * queries * keys * head_size;
}

/// Mean size of keys and values.
double head_size(const graph::Attention& a) {
  return static_cast<double>(a.inner_width() + a.result_width()) / 2 / static_cast<double>(a.heads);
}

}  // namespace

void RateGrid::add(double row, double column, double along, double rate) {
  rows_.insert(std::log(row));
  columns_.insert(std::log(column));
  auto& cell = cells_[{std::log(row), std::log(column)}];
  const auto [known, fresh] = cell.emplace(std::log(along), std::log(rate));
  if (!fresh) known->second = std::min(known->second, std::log(rate));
}

RateGrid::TableRate RateGrid::rate(double row, double column, double along) const {
  const double x = std::log(row), y = std::log(column), z = std::log(along);
  const KnotInterval r = between(rows_, x), c = between(columns_, y);
  // Uses those of the four cells around that were measured.
  double sum = 0, weight = 0;
  TimeOrigin origin = std::max(r.origin, c.origin);
  for (const auto& [at_row, row_share] : {std::pair{r.low, 1 - r.share}, std::pair{r.high, r.share}})
    for (const auto& [at_column, column_share] : {std::pair{c.low, 1 - c.share}, std::pair{c.high, c.share}})
      if (const double share = row_share * column_share; share > 0) {
        const auto cell = cells_.find({at_row, at_column});
        if (cell == cells_.end()) {
          origin = TimeOrigin::extrapolated;
          continue;
        }
        const TableRate along_it = along_cell(cell->second, z);
        sum += share * along_it.value;
        weight += share;
        origin = std::max(origin, along_it.origin);
      }
  if (weight > 0) return {std::exp(sum / weight), origin};
  // None: the nearest.
  const auto nearest = std::min_element(cells_.begin(), cells_.end(), [&](const auto& a, const auto& b) {
    return std::hypot(a.first.first - x, a.first.second - y) <
           std::hypot(b.first.first - x, b.first.second - y);
  });
  return {std::exp(along_cell(nearest->second, z).value), TimeOrigin::extrapolated};
}

TableCosts::TableCosts(std::string device, std::vector<ProductTime> products,
                       std::vector<AttentionTime> attention, std::optional<StreamingTime> streaming,
                       std::vector<cluster::CollectiveTime> collectives, std::vector<ProductTime> grouped)
    : device_(std::move(device)),
      products_(std::move(products)),
      attention_(std::move(attention)),
      grouped_(std::move(grouped)),
      streaming_(streaming),
      collectives_(collectives.empty()
                       ? nullptr
                       : std::make_shared<const cluster::CollectiveTimes>(std::move(collectives))),
      analytic_({.streaming = streaming, .flash_as_run = true}) {
  core::require(!products_.empty(), "tables of products have some");
  for (const auto& [times, rates] : {std::pair{&products_, &product_rates_}, {&grouped_, &grouped_rates_}})
    for (const ProductTime& p : *times) {
      const auto m = static_cast<double>(p.m), n = static_cast<double>(p.n), k = static_cast<double>(p.k);
      rates->add(n, k, m, product_flops(m, n, k) / p.seconds);
    }
  for (const AttentionTime& a : attention_) {
    const auto sequence = static_cast<double>(a.sequence), size = static_cast<double>(a.head_size);
    const auto together = static_cast<double>(a.batch * a.heads);
    const double flops = attention_flops(together, sequence, sequence, size);
    attention_rates_.add(sequence, size, together, flops / a.seconds);
    const double backward = a.backward > 0 ? a.backward : a.seconds * kBackwardProducts;
    backward_rates_.add(sequence, size, together, flops / backward);
  }
}

std::vector<std::string> TableCosts::foreign(const cluster::Cluster& cluster) const {
  std::vector<std::string> out;
  for (const cluster::DeviceType& type : cluster.types())
    if (!is_called(device_, type)) out.push_back(type.name);
  return out;
}

cluster::Cluster TableCosts::completed(const cluster::Cluster& cluster) const {
  return EstimatedCosts::completed(cluster).run_where_unstated(
      [](const cluster::DeviceType&) { return std::optional(cluster::usual_runtime().runtime); });
}

PassEstimate TableCosts::product(double m, double n, double k) const {
  return product_at(product_rates_, m, n, k);
}

PassEstimate TableCosts::expert_product(double m, double n, double k) const {
  return product_at(grouped_rates_.empty() ? product_rates_ : grouped_rates_, m, n, k);
}

OpEstimate TableCosts::linear(const graph::Operator& op, const cluster::DeviceType& device, double samples,
                              const OpShard& part) const {
  const auto& l = as<graph::Linear>(op);
  const double tokens = static_cast<double>(std::max<std::int64_t>(1, l.rows)) * samples;
  double in = static_cast<double>(l.in), out = static_cast<double>(l.out);
  (part.partition == plan::Partition::row ? in : out) *= part.part;
  const auto times = [&](double m, double n, double k) {
    return scaled(product(m, n, k), product_ratio(op.products, device, m, n, k));
  };
  return {{times(tokens, out, in),
           op.input_gradient_flops.value() > 0 ? times(tokens, in, out) : PassEstimate{},
           graph::trains_products(op) ? times(in, out, tokens) : PassEstimate{}}};
}

OpEstimate TableCosts::experts(const graph::OpGraph& graph, core::OpId id, const cluster::DeviceType& device,
                               double samples, const OpShard& part) const {
  const graph::Operator& op = graph.op(id);
  const ExpertWork work = expert_work(as<graph::Experts>(op), samples, part);
  const OpTime beside = analytic_.expert_moves(graph, id, device, samples, part);
  const bool input = op.input_gradient_flops.value() > 0;
  const auto times = [&](double m, double n, double k) {
    return scaled(expert_product(m, n, k), product_ratio(op.products, device, m, n, k) * work.experts);
  };
  OpEstimate out;
  for (const auto& [in, width] : work.layers) {
    out.passes[0] = sum(out.passes[0], times(work.rows, width, in));
    if (input) out.passes[1] = sum(out.passes[1], times(work.rows, in, width));
    if (graph::weighs(op)) out.passes[2] = sum(out.passes[2], times(in, width, work.rows));
  }
  out.passes[0] = exactly(out.passes[0].time + beside.forward, out.passes[0].origin);
  if (input) out.passes[1] = exactly(out.passes[1].time + beside.input_gradient, out.passes[1].origin);
  return out;
}

OpEstimate TableCosts::projections(const graph::Operator& op, const cluster::DeviceType& device,
                                   double samples, const OpShard& part) const {
  const auto& a = as<graph::Attention>(op);
  const auto mine = [&](std::int64_t width) { return static_cast<double>(width) * part.part; };
  const double tokens = static_cast<double>(a.queries) * samples, wide = static_cast<double>(a.hidden),
               queries = mine(a.inner_width()), others = mine(a.projected_width() + a.values_width());
  const auto times = [&](double m, double n, double k) {
    return scaled(product(m, n, k), product_ratio(op.products, device, m, n, k));
  };
  const bool trained = graph::trains_products(op);
  const auto dense = [&](double in, double out) {
    return OpEstimate{
        {times(tokens, out, in), times(tokens, in, out), trained ? times(in, out, tokens) : PassEstimate{}}};
  };
  const OpEstimate last = dense(mine(a.result_width()), wide);
  if (a.rotary_width == 0) return sum(dense(wide, queries + others), last);
  const double latent = static_cast<double>(a.query_width > 0 ? a.query_width : a.hidden);
  return sum(sum(dense(latent, queries), dense(static_cast<double>(a.value_width), others)), last);
}

OpEstimate TableCosts::plain_core(const graph::OpGraph& graph, core::OpId id,
                                  const cluster::DeviceType& device, double samples) const {
  const auto& a = as<graph::Attention>(graph.op(id));
  const double heads = static_cast<double>(a.heads), size = head_size(a), keys = static_cast<double>(a.keys),
               rows = std::max(1.0, heads * samples) * static_cast<double>(a.queries);
  const PassEstimate wide = product(rows, keys, size),  // scores, and the gradient of their shares
      narrow = product(rows, size, keys);               // context, and gradients of query, key and value
  const OpTime softmax = analytic_.softmax_time(graph, id, device, samples);
  const auto pass = [](const PassEstimate& products, Seconds between) {
    return exactly(products.time + between, TimeOrigin::analytic);
  };
  return {{pass(sum(wide, narrow), softmax.forward),
           pass(sum(wide, scaled(narrow, 3)), softmax.input_gradient),
           {}}};
}

OpEstimate TableCosts::core(const graph::OpGraph& graph, core::OpId id, const cluster::DeviceType& device,
                            std::int64_t samples, const OpShard& part) const {
  const auto& a = as<graph::Attention>(graph.op(id));
  if (a.core == AttentionCore::plain)
    return plain_core(graph, id, device, static_cast<double>(samples) * part.part);
  if (a.core != AttentionCore::flash || attention_rates_.empty())
    return all_of(analytic_.core_time(graph, id, device, samples, part), TimeOrigin::analytic);
  const double heads = static_cast<double>(a.heads), size = head_size(a),
               queries = static_cast<double>(a.queries), keys = static_cast<double>(a.keys),
               sequence = std::min(queries, keys),  // of a kernel: a ring's hop, or a packed document
      together = std::max(1.0, heads * part.part * static_cast<double>(samples));
  // The tables are of a causal mask, which leaves half.
  const double flops = attention_flops(together, queries, keys, size) * 2 * graph::unmasked_share(a);
  const auto pass = [&](const RateGrid& rates) {
    const RateGrid::TableRate rate = rates.rate(sequence, size, together);
    return exactly(Seconds(flops / rate.value), rate.origin);
  };
  return {{pass(attention_rates_), pass(backward_rates_), {}}};
}

OpEstimate TableCosts::estimate(const graph::OpGraph& graph, core::OpId id, const cluster::DeviceType& device,
                                std::int64_t samples, const OpShard& part) const {
  if (part.partition == plan::Partition::batch)
    return estimate(graph, id, device, samples_of(samples, part.part), {});
  OpEstimate out = products_alone(graph, id, device, samples, part);
  const graph::Operator& op = graph.op(id);
  const bool alone = op.products == graph::ProductFormat::stored && op.adapter_rank == 0 &&
                     op.frozen_format == graph::FrozenFormat::stored;
  const bool analytic = graph.element_bytes() != kElement ||
                        (op.kind == OpKind::attention && !self_attention(op));  // has all of it already
  if (alone || analytic) return out;
  const OpTime beside = analytic_.beside_time(graph, id, device, static_cast<double>(samples), part);
  out.passes[0] = exactly(out.passes[0].time + beside.forward, TimeOrigin::analytic);
  out.passes[1] = exactly(out.passes[1].time + beside.input_gradient, TimeOrigin::analytic);
  out.passes[2] = exactly(out.passes[2].time + beside.weight_gradient, TimeOrigin::analytic);
  return out;
}

OpEstimate TableCosts::products_alone(const graph::OpGraph& graph, core::OpId id,
                                      const cluster::DeviceType& device, std::int64_t samples,
                                      const OpShard& part) const {
  const graph::Operator& op = graph.op(id);
  const bool self = self_attention(op);
  if (graph.element_bytes() == kElement && op.kind == OpKind::linear)
    return linear(op, device, static_cast<double>(samples), part);
  if (graph.element_bytes() == kElement && op.kind == OpKind::experts)
    return experts(graph, id, device, static_cast<double>(samples), part);
  if (graph.element_bytes() == kElement && op.kind == OpKind::scan && as<graph::LinearScan>(op).chunk > 0)
    return all_of(analytic_.scan_time(graph, id, device, static_cast<double>(samples), part,
                                      [&](double rows, double columns, double inner) {
                                        return product(rows, columns, inner).time;
                                      }),
                  TimeOrigin::analytic);
  if (graph.element_bytes() != kElement || op.kind != OpKind::attention || !self)
    return all_of(analytic_.part_time(graph, id, device, samples, part), TimeOrigin::analytic);
  const OpEstimate outer = projections(op, device, static_cast<double>(samples), part);
  OpEstimate inner = core(graph, id, device, samples, part);
  const Seconds turned = analytic_.rotary_time(graph, id, device, static_cast<double>(samples) * part.part);
  for (PassEstimate* pass : {&inner.passes[0], &inner.passes[1]})
    *pass = exactly(pass->time + turned, pass->origin);
  return sum(outer, inner);
}

Seconds TableCosts::core_forward(const graph::OpGraph& graph, core::OpId id,
                                 const cluster::DeviceType& device, std::int64_t samples,
                                 const OpShard& part) const {
  if (part.partition == plan::Partition::batch)
    return core_forward(graph, id, device, samples_of(samples, part.part), {});
  if (graph.element_bytes() != kElement || !self_attention(graph.op(id)))
    return analytic_.core_forward(graph, id, device, samples, part);
  return core(graph, id, device, samples, part)[graph::Pass::forward].time;
}

core::Seconds TableCosts::step_time(core::Bytes weights, const plan::Training& training,
                                    const cluster::DeviceType& device) const {
  if (!streaming_) return EstimatedCosts::step_time(weights, training, device);
  return streaming_->latency + training.step_traffic(weights) / streaming_->bandwidth;
}

cluster::DeviceType TableCosts::measured_device() const {
  for (const cluster::BuiltIn& built_in : cluster::catalogue()) {
    const auto cluster = cluster::parse_cluster(std::string(built_in.text), built_in.name);
    for (const cluster::DeviceType& type : cluster.types())
      if (is_called(device_, type)) return type;
  }
  throw core::BadInput(fmt::format("tables of {}: no built-in cluster has such a device", device_));
}

OpTime TableCosts::op_time(const graph::OpGraph& graph, core::OpId id, const cluster::DeviceType& device,
                           std::int64_t samples) const {
  return estimate(graph, id, device, samples, {}).time();
}

OpTime TableCosts::part_time(const graph::OpGraph& graph, core::OpId id, const cluster::DeviceType& device,
                             std::int64_t samples, const OpShard& part) const {
  return estimate(graph, id, device, samples, part).time();
}

}  // namespace penstock::cost
