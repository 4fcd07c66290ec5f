#include "penstock/cost/curve_costs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

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
struct Known {
  std::string_view name, data_sheet;  ///< short form of the measured machine
  double slowdown;
  std::string_view source;
};
constexpr std::array kKnown{
    Known{
        "a100", "8xA100-80", 1.25,
        "vTrain, MosaicML and BigScience agree on 1.25 to 1.29 over single kernels (docs/published_runs.md)"},
    Known{"h100", "8xH100", 1.44, "MosaicML's runs over single kernels (docs/published_runs.md)"},
    Known{"b200", "8xB200", 1, "the curves themselves are of a device under sustained load"},
};

/// A word that a type's name holds, and whose curves it takes. The first that fits counts, so a name comes
/// before those that it ends in.
struct Relative {
  std::string_view word, curves;
};
constexpr std::array kRelatives{
    Relative{"gb200", "b200"},  Relative{"gb300", "b200"}, Relative{"b300", "b200"},
    Relative{"gh200", "h100"},  Relative{"h200", "h100"},  Relative{"h800", "h100"},
    Relative{"h20", "h100"},    Relative{"mi300", "h100"}, Relative{"mi325", "h100"},
    Relative{"mi355", "h100"},  Relative{"tpu", "h100"},   Relative{"gaudi", "h100"},
    Relative{"ascend", "a100"}, Relative{"910b", "a100"},  Relative{"a800", "a100"},
    Relative{"a10g", "a100"},   Relative{"a40", "a100"},   Relative{"v100", "a100"},
    Relative{"p100", "a100"},   Relative{"l40", "a100"},   Relative{"3090", "a100"},
    Relative{"4090", "a100"},   Relative{"5090", "a100"},
};

std::vector<Curves> read_curves() {
  std::vector<Curves> out;
  for (const auto& [name, text] : kBuiltInCurves) {
    const auto known = std::ranges::find(kKnown, name, &Known::name);
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

const std::vector<Curves>& built_in_curves() {
  static const std::vector<Curves> all = read_curves();
  return all;
}

const std::string& digest_of_curves() {
  static const std::string digest = [] {
    std::string all;
    for (const auto& [name, text] : kBuiltInCurves) all += text;
    for (const Known& known : kKnown) all += fmt::format("{} {}", known.name, known.slowdown);
    all += fmt::format("{} {}", cluster::usual_runtime().name,
                       cluster::usual_runtime().runtime.per_kernel.value());
    for (const Relative& relative : kRelatives) all += fmt::format("{} {}", relative.word, relative.curves);
    return core::digest(all);
  }();
  return digest;
}

namespace {

std::optional<CurveChoice> find_curves(const cluster::DeviceType& type) {
  const std::string name = core::lower_case(type.name);
  const auto curves = [](std::string_view of) {
    return &*std::ranges::find(built_in_curves(), of, &Curves::name);
  };
  for (const Relative& relative : kRelatives)
    if (name.find(relative.word) != name.npos) return CurveChoice{curves(relative.curves), false};
  for (const Curves& each : built_in_curves())
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

std::optional<PredictionError> prediction_error(std::string_view device_type) {
  const std::string name = core::lower_case(std::string(device_type));
  std::string_view rest = kPredictionErrors;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (!line.starts_with(name + ',')) continue;
    PredictionError out{};
    const char* const end = line.data() + line.size();
    const char* at = std::from_chars(line.data() + name.size() + 1, end, out.runs).ptr;
    at = std::from_chars(at + 1, end, out.sets).ptr;
    std::from_chars(at + 1, end, out.mean);
    return out;
  }
  return {};
}

OpTime CurveCosts::part_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                             std::int64_t samples, const OpShard& part) const {
  const auto choice = curves_for(device);
  if (!choice) return analytic_.part_time(graph, op, device, samples, part);
  const Curves& curves = *choice->curves;
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
  const Curves& curves = *choice->curves;
  if (choice->own) return curves.tables.core_forward(graph, op, device, samples, part);
  return scaled_like(curves.tables.core_forward(graph, op, curves.device, samples, part),
                     analytic_.core_forward(graph, op, curves.device, samples, part),
                     analytic_.core_forward(graph, op, device, samples, part));
}

Seconds CurveCosts::step_time(core::Bytes weights, const plan::Training& training,
                              const cluster::DeviceType& device) const {
  const auto choice = curves_for(device);
  if (!choice) return analytic_.step_time(weights, training, device);
  const Curves& curves = *choice->curves;
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

std::string prediction_text(const std::string& type) {
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
    if (slowdown == usual) part += prediction_text(type.name);
    if (std::ranges::find(parts, part) == parts.end()) parts.push_back(std::move(part));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace penstock::cost
