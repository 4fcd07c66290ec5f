#include "penstock/report/results.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "penstock/core/error.hpp"

namespace penstock::report {
namespace {

using Json = nlohmann::ordered_json;

/// The one list of columns: CSV header, CSV rows and JSON, written or read, all follow it.
template <class Row, class Visit>
void each_field(Row& row, Visit&& visit) {
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
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
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

void read(const Json& value, std::string& out) {
  out = value.get_ref<const std::string&>();
}
void read(const Json& value, std::int64_t& out) {
  if (!value.is_number_integer()) throw std::invalid_argument("expected a whole number");
  out = value.get<std::int64_t>();
}
void read(const Json& value, double& out) {
  out = value.get<double>();
}
template <class T>
void read(const Json& value, std::optional<T>& out) {
  if (!value.is_null()) read(value, out.emplace());
}

template <class T>
constexpr bool kOptional = false;
template <class T>
constexpr bool kOptional<std::optional<T>> = true;

/// Reads `key` of the object, if it has one; `where` says in a fault which object it is.
template <class T>
void read_key(const Json& object, const char* key, T& out, const core::Place& where) {
  const auto found = object.find(key);
  try {
    if (found != object.end()) return read(*found, out);
  } catch (const std::exception& e) {
    throw core::BadInput({where.file, 0, where.key + "." + key}, e.what());
  }
  if (!kOptional<T>) throw core::BadInput({where.file, 0, where.key}, fmt::format("'{}' is missing", key));
}

const Json& part(const Json& json, const char* key, Json::value_t type, const std::string& file) {
  const auto found = json.is_object() ? json.find(key) : json.end();
  if (found == json.end() || found->type() != type)
    throw core::BadInput({file, 0, key}, "this is no results file: expected provenance and results");
  return *found;
}

CellResult read_row(const Json& json, const core::Place& where) {
  if (!json.is_object()) throw core::BadInput(where, "expected an object");
  CellResult row;
  each_field(row, [&](const char* name, auto& value) { read_key(json, name, value, where); });
  return row;
}

Provenance read_provenance(const Json& json, const std::string& file) {
  const core::Place where{file, 0, "provenance"};
  Provenance out;
  read_key(json, "version", out.version, where);
  read_key(json, "commit", out.commit, where);
  read_key(json, "command", out.command, where);
  read_key(json, "date", out.date, where);
  read_key(json, "hardware", out.hardware, where);
  read_key(json, "compiler", out.compiler, where);
  try {
    out.dirty = json.value("dirty", false);
    out.libraries = json.value("libraries", out.libraries);
    out.seed = json.value("seed", out.seed);
  } catch (const Json::exception& e) {
    throw core::BadInput(where, e.what());
  }
  return out;
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

Results parse_results(const std::string& text, const std::string& file) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::parse_error& e) {
    throw core::BadInput({file, 0, ""}, e.what());
  }
  Results out;
  out.provenance = read_provenance(part(json, "provenance", Json::value_t::object, file), file);
  for (const Json& row : part(json, "results", Json::value_t::array, file))
    out.rows.push_back(read_row(row, {file, 0, fmt::format("results[{}]", out.rows.size())}));
  return out;
}

}  // namespace penstock::report
