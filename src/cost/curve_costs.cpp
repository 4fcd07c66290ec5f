#include "penstock/cost/curve_costs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <functional>
#include <map>

#include "built_in_curves.hpp"
#include "penstock/cluster/short_form.hpp"
#include "penstock/core/digest.hpp"
#include "penstock/core/letters.hpp"
#include "penstock/cost/communication.hpp"

namespace penstock::cost {
namespace {

using core::Seconds;

std::string in_capitals(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::toupper(c); });
  return out;
}

/// Facts that the curves' own files do not have.
struct CurveFacts {
  std::string_view name, data_sheet;  ///< short form of the measured machine
  double slowdown;
  std::string_view source;
};
constexpr std::array kKnown{
    CurveFacts{
        "a100", "8xA100-80", 1.25,
        "vTrain, MosaicML and BigScience agree on 1.25 to 1.29 over single kernels (docs/published_runs.md)"},
    CurveFacts{"h100", "8xH100", 1.44, "MosaicML's runs over single kernels (docs/published_runs.md)"},
    CurveFacts{"b200", "8xB200", 1, "the curves themselves are of a device under sustained load"},
};

/// A word that a type's name holds, and whose curves it takes. The first that fits counts, so a name comes
/// before those that it ends in.
struct CurveRelative {
  std::string_view word, curves;
};
constexpr std::array kRelatives{
    CurveRelative{"gb200", "b200"},  CurveRelative{"gb300", "b200"}, CurveRelative{"b300", "b200"},
    CurveRelative{"gh200", "h100"},  CurveRelative{"h200", "h100"},  CurveRelative{"h800", "h100"},
    CurveRelative{"h20", "h100"},    CurveRelative{"mi300", "h100"}, CurveRelative{"mi325", "h100"},
    CurveRelative{"mi355", "h100"},  CurveRelative{"tpu", "h100"},   CurveRelative{"gaudi", "h100"},
    CurveRelative{"ascend", "a100"}, CurveRelative{"910b", "a100"},  CurveRelative{"a800", "a100"},
    CurveRelative{"a10g", "a100"},   CurveRelative{"a40", "a100"},   CurveRelative{"v100", "a100"},
    CurveRelative{"p100", "a100"},   CurveRelative{"l40", "a100"},   CurveRelative{"3090", "a100"},
    CurveRelative{"4090", "a100"},   CurveRelative{"5090", "a100"},
};

std::vector<DeviceCurves> read_curves() {
  std::vector<DeviceCurves> out;
  for (const auto& [name, text] : kBuiltInCurves) {
    const auto known = std::ranges::find(kKnown, name, &CurveFacts::name);
    std::string source(text.substr(0, text.find("\npenstock_kernel_tables")));
    out.push_back({std::string(name), std::move(source), known->slowdown, std::string(known->source),
                   cluster::load_cluster(std::string(known->data_sheet)).types().front(),
                   parse_kernel_tables(std::string(text.substr(text.find("penstock_kernel_tables"))),
                                       fmt::format("curves of {}", name))});
  }
  return out;
}

bool same_peak(const cluster::DeviceType& a, const cluster::DeviceType& b) {
  return a.peak_rate(cluster::Precision::bf16).value() == b.peak_rate(cluster::Precision::bf16).value();
}

Seconds scaled_like(Seconds time, Seconds from, Seconds to) {
  return from.value() > 0 ? time * (to / from) : time;
}

/// True if by the closed form of the node's own links nothing measured there was too fast for them.
bool links_suffice(const cluster::Cluster& cluster, const cluster::CollectiveTimes& times) {
  std::vector<core::DeviceId> node;
  for (std::size_t d = 0;
       d < cluster.size() && cluster.node(core::DeviceId(d)) == cluster.node(core::DeviceId(0)); ++d)
    node.emplace_back(d);
  if (node.size() < 2) return true;
  const core::Bytes large(std::int64_t{1} << 28);
  const auto measured =
      times.find(cluster::CollectiveKind::all_reduce, static_cast<std::int64_t>(node.size()), large);
  if (!measured) return false;
  AllReduce closed = all_reduce(cluster, node);
  closed.measured = {};
  constexpr double kSlack = 1.1;
  return closed.time(large) <= measured->time * kSlack;
}

}  // namespace

const std::vector<DeviceCurves>& built_in_curves() {
  static const std::vector<DeviceCurves> all = read_curves();
  return all;
}

const std::string& digest_of_curves() {
  static const std::string digest = [] {
    std::string all;
    for (const auto& [name, text] : kBuiltInCurves) all += text;
    for (const CurveFacts& known : kKnown) all += fmt::format("{} {}", known.name, known.slowdown);
    all += fmt::format("{} {}", cluster::usual_runtime().name,
                       cluster::usual_runtime().runtime.per_kernel.value());
    for (const CurveRelative& relative : kRelatives)
      all += fmt::format("{} {}", relative.word, relative.curves);
    return core::digest(all);
  }();
  return digest;
}

namespace {

std::optional<CurveChoice> find_curves(const cluster::DeviceType& type) {
  const std::string name = core::lower_case(type.name);
  const auto curves = [](std::string_view of) {
    return &*std::ranges::find(built_in_curves(), of, &DeviceCurves::name);
  };
  for (const CurveRelative& relative : kRelatives)
    if (name.find(relative.word) != name.npos) return CurveChoice{curves(relative.curves), false};
  for (const DeviceCurves& each : built_in_curves())
    if (name.find(each.name) != name.npos) return CurveChoice{&each, same_peak(type, each.device)};
  return {};
}

/// The curves found last, and all that they depend on.
struct CurveMemo {
  std::string name;
  core::FlopRate peak;
  std::optional<CurveChoice> choice;
};

}  // namespace

// Searches need the curves of one type millions of times in a row.
std::optional<CurveChoice> curves_for(const cluster::DeviceType& type) {
  thread_local CurveMemo last;
  const core::FlopRate peak = type.peak_rate(cluster::Precision::bf16);
  if (last.name.empty() || last.name != type.name || last.peak != peak)
    last = {type.name, peak, find_curves(type)};
  return last.choice;
}

namespace {

/// Reads the predictions' errors: lines "type,runs,sets,mean".
std::map<std::string, PredictionError, std::less<>> read_errors() {
  std::map<std::string, PredictionError, std::less<>> out;
  std::string_view rest = kPredictionErrors;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const auto comma = line.find(',');
    if (comma == line.npos) continue;
    PredictionError error{};
    const char* const end = line.data() + line.size();
    const char* at = std::from_chars(line.data() + comma + 1, end, error.runs).ptr;
    at = std::from_chars(at + 1, end, error.sets).ptr;
    if (std::from_chars(at + 1, end, error.mean).ec == std::errc()) out.emplace(line.substr(0, comma), error);
  }
  return out;
}

const std::map<std::string, PredictionError, std::less<>>& known_errors() {
  static const auto all = read_errors();
  return all;
}

}  // namespace

std::optional<PredictionError> prediction_error(std::string_view device_type) {
  const auto found = known_errors().find(core::lower_case(std::string(device_type)));
  return found == known_errors().end() ? std::nullopt : std::optional(found->second);
}

std::optional<PredictionError> prediction_error(const cluster::DeviceType& type) {
  const auto named = prediction_error(type.name);
  const auto choice = named ? std::nullopt : curves_for(type);
  return choice && choice->own ? prediction_error(choice->curves->name) : named;
}

double largest_prediction_error() {
  double out = 0;
  for (const auto& [type, error] : known_errors()) out = std::max(out, error.mean);
  return out;
}

OpTime CurveCosts::part_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                             std::int64_t samples, const OpShard& part) const {
  const auto choice = curves_for(device);
  if (!choice) return analytic_.part_time(graph, op, device, samples, part);
  const DeviceCurves& curves = *choice->curves;
  if (choice->own) return curves.tables.part_time(graph, op, device, samples, part);
  const OpTime time = curves.tables.part_time(graph, op, curves.device, samples, part),
               from = analytic_.part_time(graph, op, curves.device, samples, part),
               to = analytic_.part_time(graph, op, device, samples, part);
  return {scaled_like(time.forward, from.forward, to.forward),
          scaled_like(time.input_gradient, from.input_gradient, to.input_gradient),
          scaled_like(time.weight_gradient, from.weight_gradient, to.weight_gradient)};
}

OpTime CurveCosts::op_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                           std::int64_t samples) const {
  return part_time(graph, op, device, samples, {});
}

Seconds CurveCosts::core_forward(const graph::OpGraph& graph, core::OpId op,
                                 const cluster::DeviceType& device, std::int64_t samples,
                                 const OpShard& part) const {
  const auto choice = curves_for(device);
  if (!choice) return analytic_.core_forward(graph, op, device, samples, part);
  const DeviceCurves& curves = *choice->curves;
  if (choice->own) return curves.tables.core_forward(graph, op, device, samples, part);
  return scaled_like(curves.tables.core_forward(graph, op, curves.device, samples, part),
                     analytic_.core_forward(graph, op, curves.device, samples, part),
                     analytic_.core_forward(graph, op, device, samples, part));
}

Seconds CurveCosts::step_time(core::Bytes weights, const plan::Training& training,
                              const cluster::DeviceType& device) const {
  const auto choice = curves_for(device);
  if (!choice) return analytic_.step_time(weights, training, device);
  const DeviceCurves& curves = *choice->curves;
  if (choice->own) return curves.tables.step_time(weights, training, device);
  return scaled_like(curves.tables.step_time(weights, training, curves.device),
                     analytic_.step_time(weights, training, curves.device),
                     analytic_.step_time(weights, training, device));
}

cluster::Cluster CurveCosts::completed(const cluster::Cluster& cluster) const {
  cluster::Cluster out = cluster.slowed_where_unstated([](const cluster::DeviceType& type) {
    const auto choice = curves_for(type);
    return choice ? choice->curves->slowdown : 1.0;
  });
  out = out.run_where_unstated([](const cluster::DeviceType& type) {
    return curves_for(type) ? std::optional(cluster::usual_runtime().runtime) : std::nullopt;
  });
  // One table of collectives serves a cluster of one measured type.
  if (cluster.types().size() != 1) return out;
  const auto choice = curves_for(cluster.types().front());
  if (!choice || !choice->own) return out;
  auto times = choice->curves->tables.collectives();
  return times && links_suffice(cluster, *times) ? out.measured_by(std::move(times)) : out;
}

namespace {

std::string prediction_text(const cluster::DeviceType& type) {
  const auto known = prediction_error(type);
  if (!known) return "; no measured runs to compare with";
  return fmt::format("; expected error {:.0f} % ({} measured runs in {} set{})", known->mean * 100,
                     known->runs, known->sets, known->sets == 1 ? "" : "s");
}

}  // namespace

std::string CurveCosts::source_on(const cluster::Cluster& cluster) const {
  std::vector<std::string> parts;
  for (const cluster::DeviceType& type : cluster.types()) {
    const auto choice = curves_for(type);
    std::string part = !choice       ? fmt::format("data sheet of {}", type.name)
                       : choice->own ? in_capitals(choice->curves->name) + " kernel tables"
                                     : fmt::format(
                                           "data sheet of {} with the efficiency of {}, its nearest "
                                           "measured relative",
                                           in_capitals(type.name), in_capitals(choice->curves->name));
    const double slowdown = type.slowdown(), usual = choice ? choice->curves->slowdown : 1;
    if (slowdown != usual)  // the known errors belong to the built-in constant
      part += fmt::format(", x{:.3g} by the cluster's kernel_slowdown", slowdown);
    else if (slowdown != 1)
      part += fmt::format(", x{:.3g} under sustained load", slowdown);
    else if (choice && choice->own)
      part += " under sustained load";
    if (slowdown == usual) part += prediction_text(type);
    if (std::ranges::find(parts, part) == parts.end()) parts.push_back(std::move(part));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace penstock::cost
