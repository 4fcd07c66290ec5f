#include "penstock/report/results.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

namespace penstock::report {
namespace {

using Json = nlohmann::ordered_json;

/// The one list of columns: CSV header, CSV rows and JSON all follow it.
template <class Visit>
void each_field(const CellResult& row, Visit&& visit) {
  visit("model", row.model);
  visit("cluster", row.cluster);
  visit("devices", row.devices);
  visit("planner", row.planner);
  visit("mini_batch", row.mini_batch);
  visit("micro_batch", row.micro_batch);
  visit("stages", row.stages);
  visit("depth", row.depth);
  visit("schedule", row.schedule);
  visit("estimate_s", row.estimate_s);
  visit("iteration_s", row.iteration_s);
  visit("optimism", row.optimism);
  visit("lower_bound_s", row.lower_bound_s);
  visit("gap", row.gap);
  visit("samples_per_s", row.samples_per_s);
  visit("bubble", row.bubble);
  visit("peak_memory_bytes", row.peak_memory_bytes);
  visit("search_s", row.search_s);
  visit("judging_s", row.judging_s);
  visit("states", row.states);
  visit("search_memory_bytes", row.search_memory_bytes);
  visit("costs", row.costs);
  visit("status", row.status);
}

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

Json json(const CellResult& row) {
  Json out = Json::object();
  each_field(row, [&](const char* name, const auto& value) { out[name] = json(value); });
  return out;
}

Json json(const Provenance& p) {
  return {{"version", p.version},   {"commit", p.commit},       {"dirty", p.dirty},
          {"command", p.command},   {"date", p.date},           {"hardware", p.hardware},
          {"compiler", p.compiler}, {"libraries", p.libraries}, {"seed", p.seed}};
}

}  // namespace

std::string to_csv(std::span<const CellResult> rows) {
  std::string out;
  const auto append_line = [&out](const CellResult& row, auto&& cell) {
    each_field(row, [&](const char* name, const auto& value) { out += cell(name, value) + ','; });
    out.back() = '\n';
  };
  append_line({}, [](const char* name, const auto&) { return std::string(name); });
  for (const CellResult& row : rows)
    append_line(row, [](const char*, const auto& value) { return csv(value); });
  return out;
}

std::string to_json(std::span<const CellResult> rows, const Provenance& provenance) {
  Json results = Json::array();
  for (const CellResult& row : rows) results.push_back(json(row));
  const Json out = {{"provenance", json(provenance)}, {"results", std::move(results)}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string to_json(const Provenance& provenance) {
  return json(provenance).dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

Rows to_rows(std::span<const CellResult> rows) {
  Rows out{{}, {"model", "cluster", "devices", "planner", "mini_batch"}, {}};
  each_field(CellResult{}, [&](const char* name, const auto&) { out.columns.emplace_back(name); });
  for (const CellResult& row : rows) {
    auto& cells = out.cells.emplace_back();
    each_field(row, [&](const char*, const auto& value) { cells.push_back(plain(value)); });
  }
  return out;
}

}  // namespace penstock::report
