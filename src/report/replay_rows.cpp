#include "penstock/report/replay_rows.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "agreement.hpp"
#include "csv.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/json_text.hpp"

namespace penstock::report {
namespace {

using Json = nlohmann::ordered_json;

/// A column that follows from others.
template <class T>
struct DerivedColumn {
  T value;
};

/// The list of columns for writing and reading.
template <class Row, class Visit>
void each_field(Row& row, Visit&& visit) {
  visit("plan", row.plan);
  visit("measured_s", row.measured.median);
  visit("measured_low_s", row.measured.low);
  visit("measured_high_s", row.measured.high);
  visit("simulated_s", row.simulated_s);
  visit("error", DerivedColumn<double>{row.error()});
  visit("peak_measured", row.peak.measured);
  visit("peak_simulated", row.peak.simulated);
  visit("peak_error", DerivedColumn<double>{row.peak.error()});
  visit("manner", row.manner);
  visit("noisy", DerivedColumn<bool>{row.noisy()});
  visit("noise", DerivedColumn<double>{row.measured.noise()});
  visit("iterations", row.iterations);
  visit("exposed_measured_s", row.exposed.measured);
  visit("exposed_simulated_s", row.exposed.simulated);
  visit("model", row.model);
  visit("devices", row.devices);
  visit("planner", row.planner);
  visit("schedule", row.schedule);
  visit("stages", row.stages);
  visit("mini_batch", row.mini_batch);
  visit("load", row.load);
  visit("date", row.date);
  visit("fingerprint", row.fingerprint);
}

struct ToCsv {
  std::string line;
  template <class T>
  void operator()(const char*, const T& value) {
    line += csv_cell(value) + ',';
  }
  void operator()(const char*, const DerivedColumn<double>& derived) {
    line += csv_cell(derived.value) + ',';
  }
  void operator()(const char*, const DerivedColumn<bool>& derived) { line += derived.value ? "yes," : "no,"; }
};

struct ToJson {
  Json out = Json::object();
  template <class T>
  void operator()(const char* name, const T& value) {
    out[name] = value;
  }
  template <class T>
  void operator()(const char* name, const DerivedColumn<T>& derived) {
    out[name] = derived.value;
  }
};

struct FromJson {
  const Json& in;
  template <class T>
  void operator()(const char* name, T& value) {
    in.at(name).get_to(value);
  }
  template <class T>
  void operator()(const char*, const DerivedColumn<T>&) {}
};

Json json(const ReplayRow& row) {
  ToJson visit;
  each_field(row, visit);
  return visit.out;
}

Json provenance_json(const Provenance& provenance, const ReplayTable& table) {
  Json out = Json::parse(to_json(std::span<const CellResult>(), provenance)).at("provenance");
  for (const auto& [key, value] : table.setting) out["setting"][key] = value;
  return out;
}

}  // namespace

std::string to_csv(std::span<const ReplayRow> rows) {
  std::string out;
  const ReplayRow none;
  each_field(none, [&](const char* name, const auto&) { out += std::string(name) + ','; });
  out.back() = '\n';
  for (const ReplayRow& row : rows) {
    ToCsv visit;
    each_field(row, visit);
    visit.line.back() = '\n';
    out += visit.line;
  }
  return out;
}

std::string to_json(const ReplayTable& table, const Provenance& provenance) {
  Json results = Json::array(), left_out = Json::array();
  for (const ReplayRow& row : table.rows) results.push_back(json(row));
  for (const LeftOut& left : table.left_out)
    left_out.push_back({{"plan", left.plan}, {"reason", left.reason}});
  const ValidationAgreement all = agreement(table.rows);
  const Json accuracy = {{"mean_error", all.time.mean_error},
                         {"worst_error", all.time.worst},
                         {"mean_peak_error", all.peak.mean_error},
                         {"worst_peak_error", all.peak.worst},
                         {"noisy", all.noisy},
                         {"kendall_tau", all.tau}};
  const Json out = {{"provenance", provenance_json(provenance, table)},
                    {"results", std::move(results)},
                    {"left_out", std::move(left_out)},
                    {"accuracy", accuracy}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::vector<ReplayRow> parse_replay_rows(const std::string& text, const std::string& file) {
  std::vector<ReplayRow> out;
  try {
    const Json all = core::parse_json<Json>(text, file);
    for (const Json& row : all.at("results")) each_field(out.emplace_back(), FromJson{row});
  } catch (const Json::exception& e) {
    throw core::BadInput({file, 0, fmt::format("results[{}]", out.empty() ? 0 : out.size() - 1)},
                         std::string("not a table of replays: ") + e.what());
  }
  return out;
}

}  // namespace penstock::report
