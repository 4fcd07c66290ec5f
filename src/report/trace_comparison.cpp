#include "penstock/report/trace_comparison.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "comparison_parts.hpp"
#include "csv.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/report/difference.hpp"
#include "penstock/report/table.hpp"
#include "shown.hpp"

namespace penstock::report {
namespace {

using Json = nlohmann::ordered_json;
using trace::QuantityPair;
using trace::TraceComparison;

using shown::time;
std::string percent(double share) {
  return std::isfinite(share) ? difference(share) : "-";
}

template <class Show>
void add(Table& table, const std::string& where, const std::string& what, const QuantityPair& pair,
         Show show) {
  table.add({where, what, show(pair.measured), show(pair.simulated), error_text(pair)});
}

std::string quantities(const TraceComparison& c, const ScreenLimits& screen) {
  const Align right = Align::right;
  Table table({{""}, {""}, {"measured", right}, {"simulated", right}, {"error", right}});
  add(table, "all", "iteration", c.iteration, time);
  add(table, "", "exposed communication", c.exposed, time);
  add(table, "", "peak memory", c.peak, shown::rounded_bytes);
  for (std::size_t kind = 0; kind < trace::kMemoryKinds; ++kind)
    if (const QuantityPair& held = c.at_peak[kind]; held.measured > 0 || held.simulated > 0)
      add(table, "", fmt::format("  {}", name(static_cast<plan::MemoryKind>(kind))), held,
          shown::rounded_bytes);
  for (const trace::StagePair& stage : c.stages) {
    add(table, fmt::format("stage {}", stage.stage.index()), "compute", stage.compute, time);
    add(table, "", "exposed communication", stage.exposed, time);
    add(table, "", "peak memory", stage.peak, shown::rounded_bytes);
  }
  return table.text(screen);
}

std::string headline(const ReplayRow& row) {
  return fmt::format(
      "{}: {} measured ({} to {}, {} iterations, {}), {} simulated: {}{}\n", row.plan,
      time(row.measured.median), time(row.measured.low), time(row.measured.high), row.iterations, row.manner,
      time(row.simulated_s), percent(row.error()),
      row.noisy() ? fmt::format("; noisy: known to {:.0f} % only", row.measured.noise() * 100) : "");
}

Json memory_json(const std::array<QuantityPair, trace::kMemoryKinds>& at_peak) {
  Json out = Json::object();
  for (std::size_t kind = 0; kind < trace::kMemoryKinds; ++kind)
    out[std::string(name(static_cast<plan::MemoryKind>(kind)))] = pair_json(at_peak[kind]);
  return out;
}

Json stages_json(const TraceComparison& c) {
  Json out = Json::array();
  for (const trace::StagePair& stage : c.stages)
    out.push_back({{"stage", stage.stage.index()},
                   {"compute_s", pair_json(stage.compute)},
                   {"exposed_communication_s", pair_json(stage.exposed)},
                   {"peak_memory_bytes", pair_json(stage.peak)},
                   {"at_peak", memory_json(stage.at_peak)}});
  return out;
}

Json seconds_json(const std::vector<core::Seconds>& times) {
  Json out = Json::array();
  for (const core::Seconds t : times) out.push_back(t.value());
  return out;
}

std::string id(core::DeviceId device) {
  return device.valid() ? std::to_string(device.index()) : "";
}

}  // namespace

std::string error_text(const QuantityPair& pair) {
  return percent(pair.error());
}

std::string kinds_table(const TraceComparison& c, const ScreenLimits& screen) {
  const Align right = Align::right;
  Table table({{"tasks"},
               {"count", right},
               {"measured", right},
               {"simulated", right},
               {"error", right},
               {"mean |error|", right},
               {"worst", right, 2},
               {"start off by", right, 1}});
  for (const trace::KindPair& kind : c.kinds)
    table.add({std::string(name(kind.kind)), std::to_string(kind.count), time(kind.total.measured),
               time(kind.total.simulated), error_text(kind.total),
               fmt::format("{:.1f} %", kind.mean_error * 100), percent(kind.worst), time(kind.start_shift)});
  return table.text(screen);
}

Json pair_json(const QuantityPair& pair) {
  return {{"measured", pair.measured}, {"simulated", pair.simulated}, {"error", pair.error()}};
}

Json kinds_json(const TraceComparison& c) {
  Json out = Json::array();
  for (const trace::KindPair& kind : c.kinds)
    out.push_back({{"kind", name(kind.kind)},
                   {"count", kind.count},
                   {"total_s", pair_json(kind.total)},
                   {"mean_error", kind.mean_error},
                   {"worst_error", kind.worst},
                   {"start_shift_s", kind.start_shift}});
  return out;
}

std::string comparison_table(const ReplayRow& row, const TraceComparison& comparison,
                             const ScreenLimits& screen) {
  return headline(row) + '\n' + quantities(comparison, screen) + '\n' + kinds_table(comparison, screen);
}

std::string comparison_csv(const TraceComparison& comparison) {
  std::string out =
      "kind,device,peer,stage,micro_batch,start_measured_s,start_simulated_s,duration_measured_s,"
      "duration_simulated_s,error\n";
  for (const trace::TaskPair& task : comparison.tasks)
    out += fmt::format("{},{},{},{},{},{},{},{},{},{}\n", name(task.kind), id(task.device), id(task.peer),
                       task.stage.index(), task.micro_batch, csv_cell(task.start.measured),
                       csv_cell(task.start.simulated), csv_cell(task.duration.measured),
                       csv_cell(task.duration.simulated), csv_cell(task.duration.error()));
  return out;
}

std::string comparison_json(const ReplayRow& row, const std::vector<core::Seconds>& iterations,
                            const std::vector<core::Seconds>& as_graph, const TraceComparison& comparison,
                            const Provenance& provenance) {
  Json all = Json::parse(to_json(ReplayTable{{row}, {}, {}}, provenance));
  const Json out = {
      {"provenance", all.at("provenance")},        {"replay", all.at("results").at(0)},
      {"iterations_s", seconds_json(iterations)},  {"graph_iterations_s", seconds_json(as_graph)},
      {"stages", stages_json(comparison)},         {"kinds", kinds_json(comparison)},
      {"only_measured", comparison.only_measured}, {"only_simulated", comparison.only_simulated}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace penstock::report
