#include "penstock/report/results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "columns.hpp"
#include "csv.hpp"

namespace penstock::report {
namespace {

using Json = nlohmann::ordered_json;

using report::csv_cell;
std::string csv_cell(const plan::ValueRange& extent) {
  return plan::text(extent);
}
template <class T>
std::string csv_cell(const std::optional<T>& value) {
  return value ? csv_cell(*value) : "";
}

/// CSV text of a value, without quotes.
template <class T>
std::string plain(const T& value) {
  return csv_cell(value);
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
/// A number if minimum and maximum are equal.
Json json(const plan::ValueRange& extent) {
  return extent.least == extent.most ? Json(extent.most) : Json(plan::text(extent));
}
Json json(double number) {
  return std::isfinite(number) ? Json(number) : Json();
}

template <class T>
Json json(const std::optional<T>& value) {
  return value ? json(*value) : Json();
}

Json json(const CellResult& row, const ColumnGroups& columns) {
  Json out = Json::object();
  each_field(row, columns, [&](const char* name, const auto& value) { out[name] = json(value); });
  return out;
}

Json json(const Provenance& p) {
  return {{"version", p.version},   {"commit", p.commit},       {"dirty", p.dirty},
          {"command", p.command},   {"date", p.date},           {"hardware", p.hardware},
          {"compiler", p.compiler}, {"libraries", p.libraries}, {"seed", p.seed}};
}

Json json(std::span<const CellResult> rows, const ColumnGroups& columns) {
  Json out = Json::array();
  for (const CellResult& row : rows) out.push_back(json(row, columns));
  return out;
}

std::string text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

/// Parses "optimizer=adam network=fifo" by key.
std::map<std::string, std::string> setting_of(const CellResult& row) {
  std::map<std::string, std::string> out;
  std::istringstream words(row.setting);
  for (std::string word; words >> word;)
    out[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
  return out;
}

/// Index of the axis; a new one is appended to all rows.
std::size_t axis_column(TextRows& rows, const std::string& axis) {
  auto at = std::find(rows.columns.begin(), rows.columns.end(), axis);
  if (at == rows.columns.end()) {
    at = rows.columns.insert(at, axis);
    for (auto& cells : rows.cells) cells.resize(rows.columns.size());
  }
  if (std::find(rows.axes.begin(), rows.axes.end(), axis) == rows.axes.end()) rows.axes.push_back(axis);
  return static_cast<std::size_t>(at - rows.columns.begin());
}

}  // namespace

std::string to_csv(std::span<const CellResult> rows, const ColumnGroups& columns) {
  std::string out;
  const auto append_line = [&](const CellResult& row, auto&& cell) {
    each_field(row, columns, [&](const char* name, const auto& value) { out += cell(name, value) + ','; });
    out.back() = '\n';
  };
  append_line({}, [](const char* name, const auto&) { return std::string(name); });
  for (const CellResult& row : rows)
    append_line(row, [](const char*, const auto& value) { return csv_cell(value); });
  return out;
}

std::string to_json(std::span<const CellResult> rows, const Provenance& provenance,
                    const ColumnGroups& columns) {
  return text({{"provenance", json(provenance)}, {"results", json(rows, columns)}});
}

std::string rows_json(std::span<const CellResult> rows, const ColumnGroups& columns) {
  return text({{"results", json(rows, columns)}});
}

std::string to_json(const Provenance& provenance) {
  return text(json(provenance));
}

std::string to_record(const CellResult& row) {
  return json(row, kAll).dump(-1, ' ', false, Json::error_handler_t::replace);
}

About about(const CellResult& row) {
  return {row.model, row.cluster, row.devices, row.planner, row.mini_batch, row.setting};
}

TextRows to_rows(std::span<const CellResult> rows, bool ratio) {
  const ColumnGroups& wanted = ratio ? kAllAndRatio : kAll;
  TextRows out{{}, {"model", "cluster", "devices", "planner", "mini_batch"}, {}};
  const CellResult none;
  each_field(none, wanted, [&](const char* name, const auto&) { out.columns.emplace_back(name); });
  for (const CellResult& row : rows) {
    auto& cells = out.cells.emplace_back(out.columns.size());
    std::size_t column = 0;
    each_field(row, wanted, [&](const char*, const auto& value) { cells[column++] = plain(value); });
    for (const auto& [key, value] : setting_of(row)) cells[axis_column(out, key)] = value;
  }
  return out;
}

}  // namespace penstock::report
