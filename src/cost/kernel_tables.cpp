#include "penstock/cost/kernel_tables.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "penstock/core/error.hpp"

namespace penstock::cost {
namespace {

using core::Seconds;
using graph::OpKind;

/// The size of the tables' numbers.
constexpr int kElement = 2;

/// Where `at` lies between two neighbours of `knots`, ascending: both, and the share of the upper one.
struct Between {
  double low, high, share;
};
Between between(const std::set<double>& knots, double at) {
  const auto above = knots.lower_bound(at);
  if (above == knots.begin()) return {*above, *above, 0};
  if (above == knots.end()) return {*knots.rbegin(), *knots.rbegin(), 0};
  const double low = *std::prev(above), high = *above;
  return {low, high, (at - low) / (high - low)};
}

double along_cell(const std::map<double, double>& cell, double at) {
  const auto above = cell.lower_bound(at);
  if (above == cell.begin()) return above->second;
  const auto below = std::prev(above);
  if (above == cell.end()) return below->second;
  const double share = (at - below->first) / (above->first - below->first);
  return below->second + (above->second - below->second) * share;
}

std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

double product_flops(double m, double n, double k) {
  return 2 * m * n * k;
}

/// Five products where the forward pass has two, at 63 % of an A100's peak instead of 73 %.
constexpr double kBackwardProducts = 5.0 / 2 * 73 / 63;

/// Half of scores and context, since it is causal.
double attention_flops(double batch_heads, double sequence, double head_size) {
  return 2 * batch_heads * sequence * sequence * head_size;
}

}  // namespace

void RateGrid::add(double row, double column, double along, double rate) {
  rows_.insert(std::log(row));
  columns_.insert(std::log(column));
  auto& cell = cells_[{std::log(row), std::log(column)}];
  const auto [known, fresh] = cell.emplace(std::log(along), std::log(rate));
  if (!fresh) known->second = std::min(known->second, std::log(rate));
}

double RateGrid::rate(double row, double column, double along) const {
  const double x = std::log(row), y = std::log(column), z = std::log(along);
  const Between r = between(rows_, x), c = between(columns_, y);
  // Of the four cells around, those that were measured.
  double sum = 0, weight = 0;
  for (const auto& [at_row, row_share] : {std::pair{r.low, 1 - r.share}, std::pair{r.high, r.share}})
    for (const auto& [at_column, column_share] : {std::pair{c.low, 1 - c.share}, std::pair{c.high, c.share}})
      if (const auto cell = cells_.find({at_row, at_column}); cell != cells_.end()) {
        sum += row_share * column_share * along_cell(cell->second, z);
        weight += row_share * column_share;
      }
  if (weight > 0) return std::exp(sum / weight);
  // None: the nearest.
  const auto nearest = std::min_element(cells_.begin(), cells_.end(), [&](const auto& a, const auto& b) {
    return std::hypot(a.first.first - x, a.first.second - y) <
           std::hypot(b.first.first - x, b.first.second - y);
  });
  return std::exp(along_cell(nearest->second, z));
}

TableCosts::TableCosts(std::string device, std::vector<ProductTime> products,
                       std::vector<AttentionTime> attention)
    : device_(std::move(device)), products_(std::move(products)), attention_(std::move(attention)) {
  core::require(!products_.empty(), "tables of products have some");
  for (const ProductTime& p : products_) {
    const auto m = static_cast<double>(p.m), n = static_cast<double>(p.n), k = static_cast<double>(p.k);
    product_rates_.add(n, k, m, product_flops(m, n, k) / p.seconds);
  }
  for (const AttentionTime& a : attention_) {
    const auto sequence = static_cast<double>(a.sequence), size = static_cast<double>(a.head_size);
    const auto together = static_cast<double>(a.batch * a.heads);
    const double flops = attention_flops(together, sequence, size);
    attention_rates_.add(sequence, size, together, flops / a.seconds);
    const double backward = a.backward > 0 ? a.backward : a.seconds * kBackwardProducts;
    backward_rates_.add(sequence, size, together, flops / backward);
  }
}

std::vector<std::string> TableCosts::foreign(const cluster::Cluster& cluster) const {
  std::vector<std::string> out;
  for (const cluster::DeviceType& type : cluster.types())
    if (lower_case(device_).find(lower_case(type.name)) == std::string::npos) out.push_back(type.name);
  return out;
}

double TableCosts::product(double m, double n, double k) const {
  return product_flops(m, n, k) / product_rates_.rate(n, k, m);
}

OpTime TableCosts::linear(const graph::Operator& op, double samples, const OpPart& part) const {
  const double tokens = static_cast<double>(extent(op, "rows", 1)) * samples;
  double in = static_cast<double>(extent(op, "in")), out = static_cast<double>(extent(op, "out"));
  (part.partition == plan::Partition::input ? in : out) *= part.part;
  return {Seconds(product(tokens, out, in)),
          Seconds(op.input_gradient_flops.value() > 0 ? product(tokens, in, out) : 0),
          Seconds(graph::weighs(op) ? product(in, out, tokens) : 0)};
}

OpTime TableCosts::projections(const graph::Operator& op, double samples, const OpPart& part) const {
  const double tokens = static_cast<double>(extent(op, "queries")) * samples,
               wide = static_cast<double>(extent(op, "hidden")), mine = wide * part.part,
               together =
                   mine + 2 * static_cast<double>(shared_width(op)) * part.part;  // query, key and value
  return {Seconds(product(tokens, together, wide) + product(tokens, wide, mine)),
          Seconds(product(tokens, wide, together) + product(tokens, mine, wide)),
          Seconds(product(wide, together, tokens) + product(mine, wide, tokens))};
}

OpTime TableCosts::core(const graph::OpGraph& graph, core::OpId id, const cluster::DeviceType& device,
                        std::int64_t samples, const OpPart& part) const {
  const graph::Operator& op = graph.op(id);
  if (extent(op, "flash") == 0 || attention_rates_.empty())
    return analytic_.core_time(graph, id, device, samples, part);
  const double heads = static_cast<double>(extent(op, "heads")),
               size = static_cast<double>(extent(op, "hidden")) / heads,
               sequence = static_cast<double>(extent(op, "queries")),
               together = std::max(1.0, heads * part.part * static_cast<double>(samples));
  const double flops = attention_flops(together, sequence, size),
               forward = flops / attention_rates_.rate(sequence, size, together),
               backward = flops / backward_rates_.rate(sequence, size, together);
  const Seconds turned = analytic_.rotary_time(graph, id, device, static_cast<double>(samples) * part.part);
  return {Seconds(forward) + turned, Seconds(backward) + turned, {}};
}

OpTime TableCosts::op_time(const graph::OpGraph& graph, core::OpId id, const cluster::DeviceType& device,
                           std::int64_t samples) const {
  return part_time(graph, id, device, samples, {});
}

OpTime TableCosts::part_time(const graph::OpGraph& graph, core::OpId id, const cluster::DeviceType& device,
                             std::int64_t samples, const OpPart& part) const {
  if (part.partition == plan::Partition::batch)
    return op_time(graph, id, device, samples_of(samples, part.part));
  const graph::Operator& op = graph.op(id);
  const bool self = extent(op, "queries") == extent(op, "keys");
  if (graph.element_bytes() == kElement && op.kind == OpKind::linear)
    return linear(op, static_cast<double>(samples), part);
  if (graph.element_bytes() != kElement || op.kind != OpKind::attention || !self)
    return analytic_.part_time(graph, id, device, samples, part);
  const OpTime outer = projections(op, static_cast<double>(samples), part),
               inner = core(graph, id, device, samples, part);
  return {outer.forward + inner.forward, outer.input_gradient + inner.input_gradient,
          outer.weight_gradient + inner.weight_gradient};
}

}  // namespace penstock::cost
