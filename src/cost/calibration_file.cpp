// The file form of a calibration, read.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <tuple>

#include "batch_size.hpp"
#include "penstock/core/files.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/core/yaml.hpp"
#include "penstock/cost/calibration.hpp"

namespace penstock::cost {
namespace {

using core::BadInput;
using core::Yaml;

constexpr std::string_view kFirstKey = "penstock_calibration:";
constexpr std::string_view kLastKey = "end: ";
constexpr std::int64_t kMostCount = 1'000'000'000'000'000;  ///< extents, counts: sums of thousands stay exact
constexpr double kMostFlops = 1e30, kMostSlowdown = 1000;
constexpr double kShortest =
    0.999996e-12;  ///< s: a tick of the simulator's clock, before rounding to five digits

int line_at(std::string_view text, std::size_t position) {
  return 1 + static_cast<int>(
                 std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(position), '\n'));
}

/// Value with this name; a fault names its place.
template <class Value>
Value named(const Yaml& node, const std::string& name, Value (*read)(std::string_view)) {
  try {
    return read(name);
  } catch (const BadInput& e) {
    node.fail(e.what());
  }
}
template <class Value>
Value named(const Yaml& node, Value (*read)(std::string_view)) {
  return named(node, node.text(), read);
}

double at_least_zero(const Yaml& node, double most) {
  const double value = node.number();
  if (value < 0 || value > most) node.fail(fmt::format("expected a number from 0 to {:g}", most));
  return value;
}

std::vector<Yaml> items(const Yaml& node, std::size_t count, const char* what) {
  std::vector<Yaml> out = node.items();
  if (out.size() != count) node.fail(fmt::format("expected {}", what));
  return out;
}

TimingSummary timing(const Yaml& node) {
  const auto parts = items(node, 6, "[median, p10, p90, count, low, high]");
  const TimingSummary t{parts[0].seconds(), parts[1].seconds(),
                        parts[2].seconds(), parts[3].integer(1, kMostCount),
                        parts[4].seconds(), parts[5].seconds()};
  if (t.median.value() < kShortest) node.fail("expected a median of at least 1ps");
  if (t.p10 > t.median || t.median > t.p90) node.fail("the median is not between p10 and p90");
  if (t.low > t.median || t.median > t.high) node.fail("the median is not in its interval");
  return t;
}

FittedValue fitted(const Yaml& node) {
  const auto parts = items(node, 3, "[value, low, high]");
  const FittedValue f{parts[0].number(), parts[1].number(), parts[2].number()};
  if (f.low > f.value || f.value > f.high) node.fail("the value is not in its interval");
  return f;
}

template <class Pairs>
Pairs text_pairs(const Yaml& node) {
  Pairs out;
  for (const auto& [key, value] : node.entries()) out.insert(out.end(), {key, value.text()});
  return out;
}

MeasurementIdentity identity(const Yaml& node) {
  node.only({"device", "backend", "memory", "threads", "load", "date", "commit", "command", "details"});
  return {node.at("device").text(),
          node.at("backend").text(),
          node.at("memory").bytes(),
          static_cast<int>(node.at("threads").integer(1, 1 << 20)),
          at_least_zero(node.at("load"), 1e9),
          node.at("date").text(),
          node.at("commit").text(),
          node.at("command").text(),
          text_pairs<decltype(MeasurementIdentity::details)>(node.at("details"))};
}

DeviceCeilings ceilings(const Yaml& node) {
  node.only({"copy", "add", "update", "matmul"});
  DeviceCeilings out;
  out.copy = node.at("copy").bandwidth();
  if (out.copy.value() < 1) node.at("copy").fail("expected at least 1B/s");
  const auto if_measured = [&node](const char* key, core::Bandwidth& rate) {
    const auto found = node.find(key);
    if (found && (rate = found->bandwidth()).value() < 1) found->fail("expected at least 1B/s");
  };
  if_measured("add", out.add);
  if_measured("update", out.update);
  for (const auto& [number, rate] : node.at("matmul").entries()) {
    if (rate.flop_rate().value() < 1) rate.fail("expected at least 1FLOP/s");
    out.matmul[static_cast<std::size_t>(named(rate, number, cluster::precision))] = rate.flop_rate();
  }
  if (node.at("matmul").entries().empty()) node.at("matmul").fail("expected at least one rate");
  return out;
}

Shape shape(const Yaml& node) {
  Shape out;
  for (const auto& [extent, value] : node.entries()) out.emplace_back(extent, value.integer(0, kMostCount));
  return out;
}

KernelWork work(const Yaml& node) {
  node.only({"flops", "moved", "weights"});
  KernelWork out;
  const auto flops = items(node.at("flops"), graph::kPasses, "[forward, input gradient, weight gradient]");
  for (std::size_t i = 0; i < graph::kPasses; ++i)
    out.flops[i] = core::Flops(at_least_zero(flops[i], kMostFlops));
  out.moved = node.at("moved").bytes();
  out.weights = node.at("weights").bytes();
  return out;
}

std::vector<TimingRound> visits(const Yaml& node) {
  std::vector<TimingRound> out;
  for (const Yaml& item : node.items()) {
    const auto medians = items(item, 2, "[cold, back to back]");
    out.push_back({medians[0].seconds(), medians[1].seconds()});
    if (std::min(out.back().cold, out.back().back_to_back).value() < kShortest)
      item.fail("expected medians of at least 1ps");
  }
  if (out.size() < 2) node.fail("expected two visits or more");
  return out;
}

KernelPoint kernel_point(graph::Pass pass, const std::string& samples, const Yaml& node) {
  node.only({"cold", "back_to_back", "algorithm", "workspace", "visits"});
  const auto algorithm = node.find("algorithm"), visited = node.find("visits");
  return {pass,
          batch_size(samples, node),
          timing(node.at("cold")),
          timing(node.at("back_to_back")),
          algorithm ? algorithm->text() : "",
          node.at("workspace").bytes(),
          visited ? visits(*visited) : std::vector<TimingRound>{}};
}

std::vector<KernelPoint> kernel_points(const Yaml& node, graph::Pass pass) {
  std::vector<KernelPoint> out;
  for (const auto& [samples, point] : node.entries()) {
    out.push_back(kernel_point(pass, samples, point));
    if (out.size() > 1 && out[out.size() - 2].samples >= out.back().samples)
      point.fail("batch sizes do not ascend");
  }
  return out;
}

MeasuredKernel kernel(const Yaml& node) {
  node.only({"kind", "number", "shape", "work", "forward", "input_gradient", "weight_gradient"});
  MeasuredKernel out;
  out.key = {named(node.at("kind"), graph::op_kind), shape(node.at("shape")),
             named(node.at("number"), cluster::precision)};
  out.work = work(node.at("work"));
  for (std::size_t i = 0; i < graph::kPasses; ++i)
    if (const auto points = node.find(name(static_cast<graph::Pass>(i))))
      for (KernelPoint& point : kernel_points(*points, static_cast<graph::Pass>(i)))
        out.points.push_back(std::move(point));
  return out;
}

core::Bytes size_key(const std::string& key, const Yaml& node) {
  const auto bytes = core::parse_bytes(key);
  if (!bytes) node.fail(fmt::format("expected a size such as 1024B as key, found '{}'", key));
  return *bytes;
}

LinkSegment segment(const Yaml& node) {
  node.only({"from", "to", "seconds", "seconds_per_byte"});
  const LinkSegment out{node.at("from").bytes(), node.at("to").bytes(), fitted(node.at("seconds")),
                        fitted(node.at("seconds_per_byte"))};
  if (out.from > out.to) node.fail("the segment ends before it begins");
  return out;
}

MeasuredLink link(const Yaml& node) {
  node.only({"kind", "ranks", "points", "segments"});
  MeasuredLink out{
      named(node.at("kind"), link_kind), static_cast<int>(node.at("ranks").integer(1, 1 << 20)), {}, {}};
  for (const auto& [bytes, time] : node.at("points").entries()) {
    out.points.push_back({size_key(bytes, time), timing(time)});
    if (out.points.size() > 1 && out.points[out.points.size() - 2].bytes >= out.points.back().bytes)
      time.fail("sizes do not ascend");
  }
  for (const Yaml& item : node.at("segments").items()) {
    out.segments.push_back(segment(item));
    if (out.segments.size() > 1 && out.segments[out.segments.size() - 2].to > out.segments.back().from)
      item.fail("segments do not ascend");
  }
  return out;
}

SharingTest sharing(const Yaml& node) {
  node.only({"kind", "bytes", "alone", "together"});
  return {named(node.at("kind"), link_kind), node.at("bytes").bytes(), timing(node.at("alone")),
          timing(node.at("together"))};
}

OverlapTest overlap(const Yaml& node) {
  node.only({"compute_alone", "compute_with", "copy_alone", "copy_with"});
  return {timing(node.at("compute_alone")), timing(node.at("compute_with")), timing(node.at("copy_alone")),
          timing(node.at("copy_with"))};
}

double share(const Yaml& node) {
  return at_least_zero(node, 1);
}

CrowdingTest crowding_test(const Yaml& node) {
  node.only({"kernel", "memory_share", "beside", "neighbours", "alone", "crowded", "slowdown"});
  CrowdingTest out{node.at("kernel").text(),   share(node.at("memory_share")),
                   node.at("beside").text(),   static_cast<int>(node.at("neighbours").integer(1, 1 << 20)),
                   timing(node.at("alone")),   timing(node.at("crowded")),
                   fitted(node.at("slowdown"))};
  if (!(out.slowdown.low > 0) || out.slowdown.high > kMostSlowdown)
    node.at("slowdown").fail(fmt::format("expected factors above 0, at most {:g}", kMostSlowdown));
  return out;
}

ModelSum model_sum(const Yaml& node) {
  node.only({"model", "parameters", "samples", "number", "whole", "cold_sum", "back_to_back_sum"});
  return {node.at("model").text(),
          text_pairs<decltype(ModelSum::parameters)>(node.at("parameters")),
          node.at("samples").integer(1, kMostBatch),
          named(node.at("number"), cluster::precision),
          timing(node.at("whole")),
          node.at("cold_sum").seconds(),
          node.at("back_to_back_sum").seconds()};
}

LeaveOneOutRow leave_one_out_row(const Yaml& node) {
  node.only({"kind", "fold", "count", "median", "p90"});
  LeaveOneOutRow out{named(node.at("kind"), graph::op_kind), named(node.at("fold"), fold),
                     node.at("count").integer(1, kMostCount), at_least_zero(node.at("median"), 1e9),
                     at_least_zero(node.at("p90"), 1e9)};
  if (out.median > out.p90) node.fail("the median is above p90");
  return out;
}

template <class Item>
std::vector<Item> list(const Yaml& node, Item (*read)(const Yaml&)) {
  std::vector<Item> out;
  for (const Yaml& item : node.items()) out.push_back(read(item));
  return out;
}

/// No two items of the list have one key.
template <class Item, class Key>
void check_unique(const Yaml& node, const std::vector<Item>& items, Key key, const char* fault) {
  std::set<decltype(key(items.front()))> seen;
  const auto nodes = node.items();
  for (std::size_t i = 0; i < items.size(); ++i)
    if (!seen.insert(key(items[i])).second) nodes[i].fail(fault);
}

Calibration read(const Yaml& root) {
  root.only({"penstock_calibration", "identity", "launch_overhead", "ceilings", "kernels", "links", "sharing",
             "overlap", "models", "leave_one_out", "crowding", "graph_launch", "end"});
  Calibration out{identity(root.at("identity")),
                  root.at("launch_overhead").seconds(),
                  ceilings(root.at("ceilings")),
                  list(root.at("kernels"), kernel),
                  list(root.at("links"), link),
                  list(root.at("sharing"), sharing),
                  list(root.at("overlap"), overlap),
                  list(root.at("models"), model_sum),
                  list(root.at("leave_one_out"), leave_one_out_row)};
  if (const auto tests = root.find("crowding")) {
    out.crowding = list(*tests, crowding_test);
    check_unique(
        *tests, out.crowding,
        [](const CrowdingTest& test) { return std::tuple(test.kernel, test.beside, test.neighbours); },
        "the test appears twice");
  }
  if (const auto launch = root.find("graph_launch")) out.graph_launch = launch->seconds();
  check_unique(
      root.at("kernels"), out.kernels, [](const MeasuredKernel& k) { return k.key; },
      "the kernel appears twice");
  check_unique(
      root.at("links"), out.links, [](const MeasuredLink& l) { return std::pair(l.kind, l.ranks); },
      "the link appears twice");
  return out;
}

void check_first_line(const std::string& text, const std::string& file) {
  if (!is_calibration(text))
    throw BadInput({file, 1, ""}, "not a calibration: expected 'penstock_calibration: 1' as first line");
  std::string_view version = std::string_view(text).substr(kFirstKey.size());
  version = version.substr(0, version.find('\n'));
  if (version == " 1") return;
  std::int64_t number = 0;
  const auto [rest, fault] = std::from_chars(version.data() + std::min<std::size_t>(1, version.size()),
                                             version.data() + version.size(), number);
  const bool newer = fault == std::errc() && rest == version.data() + version.size() && number > 1;
  throw BadInput({file, 1, "penstock_calibration"},
                 newer ? fmt::format("version {} is newer than this penstock, which reads version 1", number)
                       : fmt::format("expected version 1, found '{}'", version));
}

/// The last line is whole, and the check sum is that of all lines above it.
void check_seal(const std::string& text, const std::string& file) {
  const std::size_t start = text.size() < 2 ? 0 : text.rfind('\n', text.size() - 2) + 1;
  const core::InputPlace place{file, line_at(text, start), "end"};
  if (!text.ends_with('\n') || !std::string_view(text).substr(start).starts_with(kLastKey))
    throw BadInput(place, "the file is truncated: its last line, 'end: CHECKSUM', is missing");
  if (sealed(text.substr(0, start)) != text)
    throw BadInput(place, "the file is damaged or was edited: its check sum does not match");
}

}  // namespace

bool is_calibration(std::string_view text) {
  return text.starts_with(kFirstKey);
}

Calibration parse_calibration(const std::string& text, const std::string& file) {
  check_first_line(text, file);
  check_seal(text, file);
  return read(Yaml::parse(text, file));
}

Calibration load_calibration(const std::string& path) {
  return parse_calibration(core::read_file(path), path);
}

}  // namespace penstock::cost
