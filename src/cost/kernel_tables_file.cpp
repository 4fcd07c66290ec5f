// The file form of TableCosts: a short head, then the tables as lines of numbers, which are many.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

#include "penstock/core/error.hpp"
#include "penstock/core/yaml.hpp"
#include "penstock/cost/kernel_tables.hpp"
#include "penstock/cost/plausible.hpp"

namespace penstock::cost {
namespace {

using core::Yaml;

constexpr std::string_view kHead = "penstock_kernel_tables:";
constexpr std::int64_t kMost = std::int64_t{1} << 40;

/// Calls row(extents, seconds, more) for each line of `count` extents and a time in microseconds; and, where
/// `most` is two, perhaps another: else `more` is zero.
template <class Row>
void read_lines(const Yaml& table, std::size_t count, std::size_t most, const Row& row) {
  std::istringstream in(table.text());
  std::size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    std::istringstream cells(line);
    std::vector<std::int64_t> extents(count);
    for (std::int64_t& extent : extents) {
      cells >> extent;
      if (!cells || extent < 1 || extent > kMost)
        table.fail(fmt::format("row {}: expected {} whole numbers above zero and a time: '{}'", number, count,
                               line));
    }
    std::vector<double> seconds;
    bool positive = true;
    for (double microseconds = 0; seconds.size() < most && cells >> microseconds;) {
      positive = positive && std::isfinite(microseconds) && microseconds > 0;
      seconds.push_back(microseconds * 1e-6);
    }
    if (seconds.empty() || !positive || !(cells.eof() || (cells >> std::ws).eof()))
      table.fail(fmt::format("row {}: expected a time above zero at its end: '{}'", number, line));
    for (const double each : seconds)
      if (const auto wrong = above_any_kernel(each); !wrong.empty())
        table.fail(fmt::format("row {}: {}", number, wrong));
    row(extents, seconds.front(), seconds.size() > 1 ? seconds.back() : 0);
  }
  if (number == 0) table.fail("expected rows");
}

/// `row` counts from 1.
void refuse_wrong(const Yaml& table, std::size_t row, const std::string& wrong) {
  if (!wrong.empty()) table.fail(fmt::format("row {}: expected microseconds; this is {}", row, wrong));
}

std::vector<ProductTime> read_products(const Yaml& table, const std::string& device) {
  std::vector<ProductTime> out;
  double best = 0;
  read_lines(table, 3, 1, [&](const std::vector<std::int64_t>& e, double seconds, double) {
    out.push_back({e[0], e[1], e[2], seconds});
    const double flops = least_flops(out.back());
    refuse_wrong(table, out.size(), above_peak(flops, seconds, device));
    if (flops >= kLargeFlops) best = std::max(best, flops / seconds);
  });
  if (const auto wrong = far_below_peak(best, device); !wrong.empty())
    table.fail("expected microseconds; products reach " + wrong);
  return out;
}

std::vector<AttentionTime> read_attention(const Yaml& table, const std::string& device) {
  std::vector<AttentionTime> out;
  read_lines(table, 4, 2, [&](const std::vector<std::int64_t>& e, double seconds, double backward) {
    out.push_back({e[0], e[1], e[2], e[3], seconds, backward});
    const double flops = least_flops(out.back());
    refuse_wrong(table, out.size(), above_peak(flops, seconds, device));
    if (backward > 0) refuse_wrong(table, out.size(), above_peak(flops, backward, device));
  });
  return out;
}

std::string products_text(const std::vector<ProductTime>& products) {
  std::string out;
  for (const ProductTime& p : products)
    out += fmt::format("  {} {} {} {:.6g}\n", p.m, p.n, p.k, p.seconds * 1e6);
  return out;
}

std::vector<cluster::CollectiveTime> read_collectives(const Yaml& root) {
  std::vector<cluster::CollectiveTime> out;
  for (std::size_t k = 0; k < cluster::kCollectiveKinds; ++k) {
    const auto kind = static_cast<cluster::CollectiveKind>(k);
    const auto table = root.find(std::string(name(kind)));
    if (!table) continue;
    std::size_t row = 0;
    read_lines(*table, 2, 1, [&](const std::vector<std::int64_t>& e, double seconds, double) {
      if (e[0] < 2) table->fail("a collective has two ranks or more");
      out.push_back({kind, e[0], e[1], seconds});
      refuse_wrong(*table, ++row, above_link_bandwidth(least_sent(out.back()), seconds));
    });
  }
  return out;
}

std::string collectives_text(const cluster::CollectiveTimes& times) {
  std::string out;
  for (std::size_t k = 0; k < cluster::kCollectiveKinds; ++k) {
    const auto kind = static_cast<cluster::CollectiveKind>(k);
    std::string lines;
    for (const cluster::CollectiveTime& row : times.rows())
      if (row.kind == kind) lines += fmt::format("  {} {} {:.6g}\n", row.ranks, row.bytes, row.seconds * 1e6);
    if (!lines.empty()) out += fmt::format("{}: |  # ranks bytes us\n", name(kind)) + lines;
  }
  return out;
}

StreamingTime read_streaming(const Yaml& node, const std::string& device) {
  node.only({"bandwidth", "latency"});
  const StreamingTime out{node.at("bandwidth").bandwidth(), node.at("latency").seconds()};
  if (!(out.bandwidth.value() > 0)) node.at("bandwidth").fail("expected a bandwidth above zero");
  if (const auto wrong = above_memory_bandwidth(out.bandwidth.value(), 1, device); !wrong.empty())
    node.at("bandwidth").fail(wrong);
  return out;
}

}  // namespace

bool is_kernel_tables(const std::string& text) {
  return text.starts_with(kHead);
}

TableCosts parse_kernel_tables(const std::string& text, const std::string& file) {
  const Yaml root = Yaml::parse(text, file);
  root.only({"penstock_kernel_tables", "device", "streaming", "products", "grouped", "attention",
             "all_reduce", "all_gather", "reduce_scatter", "all_to_all"});
  (void)root.at("penstock_kernel_tables").integer(1, 1);
  const std::string device = root.at("device").text();
  std::vector<AttentionTime> attention;
  std::vector<ProductTime> products = read_products(root.at("products"), device), grouped;
  if (const auto table = root.find("grouped")) grouped = read_products(*table, device);
  if (const auto table = root.find("attention")) attention = read_attention(*table, device);
  std::optional<StreamingTime> streaming;
  if (const auto node = root.find("streaming")) streaming = read_streaming(*node, device);
  return {device,    std::move(products),    std::move(attention),
          streaming, read_collectives(root), std::move(grouped)};
}

std::string to_yaml(const TableCosts& tables) {
  std::string out = fmt::format("{} 1\ndevice: {}\n", kHead, core::quoted(tables.device()));
  if (const auto& streaming = tables.streaming())
    out += fmt::format("streaming: {{bandwidth: {:.6g}GB/s, latency: {:.6g}us}}\n",
                       streaming->bandwidth.value() / 1e9, streaming->latency.value() * 1e6);
  out += "products: |  # m n k us\n";
  out += products_text(tables.products());
  if (!tables.grouped().empty()) out += "grouped: |  # m n k us\n" + products_text(tables.grouped());
  if (!tables.attention().empty()) out += "attention: |  # batch sequence heads head_size us (backward us)\n";
  for (const AttentionTime& a : tables.attention())
    out += fmt::format("  {} {} {} {} {:.6g}{}\n", a.batch, a.sequence, a.heads, a.head_size, a.seconds * 1e6,
                       a.backward > 0 ? fmt::format(" {:.6g}", a.backward * 1e6) : "");
  return tables.collectives() ? out + collectives_text(*tables.collectives()) : out;
}

}  // namespace penstock::cost
