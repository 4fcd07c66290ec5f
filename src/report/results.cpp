#include "penstock/report/results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "penstock/core/error.hpp"

namespace penstock::report {
namespace {

using Json = nlohmann::ordered_json;

/// The one list of columns: CSV header, CSV rows and JSON all follow it.
template <class Row, class Visit>
void each_field(Row& row, const Columns& columns, Visit&& visit) {
  visit("model", row.model);
  visit("cluster", row.cluster);
  visit("devices", row.devices);
  visit("planner", row.planner);
  visit("mini_batch", row.mini_batch);
  const auto in = [&visit](bool wanted, const char* name, auto& value) {
    if (wanted) visit(name, value);
  };
  in(columns.axes, "setting", row.setting);
  in(columns.results, "micro_batch", row.micro_batch);
  in(columns.results, "stages", row.stages);
  in(columns.results, "depth", row.depth);
  in(columns.results, "schedule", row.schedule);
  in(columns.results, "estimate_s", row.estimate_s);
  in(columns.results, "iteration_s", row.iteration_s);
  in(columns.results, "optimism", row.optimism);
  in(columns.results, "lower_bound_s", row.lower_bound_s);
  in(columns.results, "gap", row.gap);
  in(columns.results, "samples_per_s", row.samples_per_s);
  in(columns.results, "bubble", row.bubble);
  in(columns.results, "peak_memory_bytes", row.peak_memory_bytes);
  in(columns.measured, "search_s", row.search_s);
  in(columns.measured, "judging_s", row.judging_s);
  in(columns.results, "states", row.states);
  in(columns.measured, "search_memory_bytes", row.search_memory_bytes);
  in(columns.results, "costs", row.costs);
  in(columns.results, "status", row.status);
  in(columns.origin, "date", row.date);
  in(columns.origin, "hardware", row.hardware);
}

constexpr Columns kAll{true, true, true, true};

std::string csv(const std::string& text) {
  return csv_cell(text);
}

std::string csv(std::int64_t number) {
  return std::to_string(number);
}

/// A number no arithmetic can follow is no result: it is left out.
std::string csv(double number) {
  if (!std::isfinite(number)) return "";
  char digits[32];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), number).ptr;
  return {digits, end};
}

template <class T>
std::string csv(const std::optional<T>& value) {
  return value ? csv(*value) : "";
}

/// As csv, without quotes.
template <class T>
std::string plain(const T& value) {
  return csv(value);
}
template <>
std::string plain(const std::string& text) {
  return text;
}
template <>
std::string plain(const std::optional<std::string>& text) {
  return text.value_or("");
}

Json json(const std::string& text) {
  return text;
}
Json json(std::int64_t number) {
  return number;
}
Json json(double number) {
  return std::isfinite(number) ? Json(number) : Json();
}

template <class T>
Json json(const std::optional<T>& value) {
  return value ? json(*value) : Json();
}

Json json(const CellResult& row, const Columns& columns) {
  Json out = Json::object();
  each_field(row, columns, [&](const char* name, const auto& value) { out[name] = json(value); });
  return out;
}

Json json(const Provenance& p) {
  return {{"version", p.version},   {"commit", p.commit},       {"dirty", p.dirty},
          {"command", p.command},   {"date", p.date},           {"hardware", p.hardware},
          {"compiler", p.compiler}, {"libraries", p.libraries}, {"seed", p.seed}};
}

Json json(std::span<const CellResult> rows, const Columns& columns) {
  Json out = Json::array();
  for (const CellResult& row : rows) out.push_back(json(row, columns));
  return out;
}

std::string text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

/// "optimizer=adam network=fifo" by key.
std::map<std::string, std::string> setting_of(const CellResult& row) {
  std::map<std::string, std::string> out;
  std::istringstream words(row.setting);
  for (std::string word; words >> word;) out[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
  return out;
}

/// Where the axis stands; a new one is put last, in all rows.
std::size_t axis_column(Rows& rows, const std::string& axis) {
  auto at = std::find(rows.columns.begin(), rows.columns.end(), axis);
  if (at == rows.columns.end()) {
    at = rows.columns.insert(at, axis);
    for (auto& cells : rows.cells) cells.resize(rows.columns.size());
  }
  if (std::find(rows.axes.begin(), rows.axes.end(), axis) == rows.axes.end()) rows.axes.push_back(axis);
  return static_cast<std::size_t>(at - rows.columns.begin());
}

void read(const Json& json, std::string& value) {
  value = json.get<std::string>();
}
void read(const Json& json, std::int64_t& value) {
  value = json.get<std::int64_t>();
}
template <class T>
void read(const Json& json, std::optional<T>& value) {
  if (!json.is_null()) value = json.get<T>();
}

}  // namespace

std::string to_csv(std::span<const CellResult> rows, const Columns& columns) {
  std::string out;
  const auto append_line = [&](const CellResult& row, auto&& cell) {
    each_field(row, columns, [&](const char* name, const auto& value) { out += cell(name, value) + ','; });
    out.back() = '\n';
  };
  append_line({}, [](const char* name, const auto&) { return std::string(name); });
  for (const CellResult& row : rows)
    append_line(row, [](const char*, const auto& value) { return csv(value); });
  return out;
}

std::string to_json(std::span<const CellResult> rows, const Provenance& provenance, const Columns& columns) {
  return text({{"provenance", json(provenance)}, {"results", json(rows, columns)}});
}

std::string rows_json(std::span<const CellResult> rows, const Columns& columns) {
  return text({{"results", json(rows, columns)}});
}

std::string to_json(const Provenance& provenance) {
  return text(json(provenance));
}

std::string to_record(const CellResult& row) {
  return json(row, kAll).dump(-1, ' ', false, Json::error_handler_t::replace);
}

CellResult parse_record(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    CellResult row;
    each_field(row, kAll, [&](const char* name, auto& value) { read(json.at(name), value); });
    return row;
  } catch (const Json::exception& e) {
    throw core::BadInput(std::string("not a row of results: ") + e.what());
  }
}

Rows to_rows(std::span<const CellResult> rows) {
  Rows out{{}, {"model", "cluster", "devices", "planner", "mini_batch"}, {}};
  const CellResult none;
  each_field(none, kAll, [&](const char* name, const auto&) { out.columns.emplace_back(name); });
  for (const CellResult& row : rows) {
    auto& cells = out.cells.emplace_back(out.columns.size());
    std::size_t column = 0;
    each_field(row, kAll, [&](const char*, const auto& value) { cells[column++] = plain(value); });
    for (const auto& [key, value] : setting_of(row)) cells[axis_column(out, key)] = value;
  }
  return out;
}

}  // namespace penstock::report
