#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "columns.hpp"
#include "csv_reader.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/json_text.hpp"

namespace penstock::report {
namespace {

using Json = nlohmann::ordered_json;

void read(const Json& value, std::string& out) {
  out = value.get_ref<const std::string&>();
}
void read(const Json& value, std::int64_t& out) {
  if (!value.is_number_integer()) throw std::invalid_argument("expected a whole number");
  out = value.get<std::int64_t>();
}
void read(const Json& value, plan::ValueRange& out) {
  const auto extent = plan::parse_extent(value.is_string() ? value.get<std::string>() : value.dump());
  if (!extent) throw std::invalid_argument("expected a whole number, or two such as 1-4");
  out = *extent;
}
void read(const Json& value, double& out) {
  out = value.get<double>();
}
template <class T>
void read(const Json& value, std::optional<T>& out) {
  if (!value.is_null()) read(value, out.emplace());
}

void read_field(const std::string& field, std::string& out) {
  out = field;
}
void read_field(const std::string& field, plan::ValueRange& out) {
  const auto extent = plan::parse_extent(field);
  if (!extent)
    throw std::invalid_argument("expected a whole number, or two such as 1-4, not '" + field + "'");
  out = *extent;
}
template <class Number>
void read_field(const std::string& field, Number& out) {
  const char* end = field.data() + field.size();
  const auto [stop, fault] = std::from_chars(field.data(), end, out);
  if (fault != std::errc() || stop != end || !std::isfinite(static_cast<double>(out)))
    throw std::invalid_argument("expected a number, not '" + field + "'");
}
template <class T>
void read_field(const std::string& field, std::optional<T>& out) {
  if (!field.empty()) read_field(field, out.emplace());
}

/// Runs `reading` and adds the place to its errors.
template <class F>
void at_place(const core::InputPlace& place, F&& reading) {
  try {
    reading();
  } catch (const Json::exception& e) {
    throw core::BadInput(place, e.what());
  } catch (const std::invalid_argument& e) {
    throw core::BadInput(place, e.what());
  }
}

void need(bool there, const char* key, const core::InputPlace& where) {
  if (!there) throw core::BadInput(where, fmt::format("'{}' is missing", key));
}

/// Reads `key` of the object, if it has one.
template <class T>
void read_key(const Json& object, const char* key, T& out, const core::InputPlace& where) {
  const auto found = object.find(key);
  if (found != object.end()) at_place({where.file, 0, where.key + "." + key}, [&] { read(*found, out); });
}

CellResult read_row(const Json& json, const core::InputPlace& where) {
  if (!json.is_object()) throw core::BadInput(where, "expected an object");
  CellResult row;
  each_field(row, kAbout, [&](const char* name, auto&) { need(json.contains(name), name, where); });
  each_field(row, kAll, [&](const char* name, auto& value) { read_key(json, name, value, where); });
  return row;
}

Provenance read_provenance(const Json& json, const core::InputPlace& where) {
  if (!json.is_object()) throw core::BadInput(where, "expected an object");
  Provenance out;
  for (const auto& [key, text] :
       {std::pair{"version", &out.version}, std::pair{"commit", &out.commit},
        std::pair{"command", &out.command}, std::pair{"date", &out.date},
        std::pair{"hardware", &out.hardware}, std::pair{"compiler", &out.compiler}}) {
    need(json.contains(key), key, where);
    read_key(json, key, *text, where);
  }
  at_place(where, [&] {
    out.dirty = json.value("dirty", false);
    out.libraries = json.value("libraries", out.libraries);
    out.seed = json.value("seed", out.seed);
  });
  return out;
}

/// One record: its fields by their columns.
class ResultRecord {
 public:
  ResultRecord(const std::vector<std::string>& columns, const std::vector<std::string>& fields,
               core::InputPlace place)
      : place_(std::move(place)) {
    for (std::size_t i = 0; i < std::min(columns.size(), fields.size()); ++i)
      fields_.emplace(columns[i], fields[i]);
  }

  void read(const ColumnGroups& columns, CellResult& row) const {
    each_field(row, columns, [&](const char* name, auto& value) {
      const auto found = fields_.find(name);
      if (found != fields_.end())
        at_place({place_.file, place_.line, name}, [&] { read_field(found->second, value); });
    });
  }
  About about() const {
    CellResult row;
    each_field(row, kAbout, [&](const char* name, auto&) { need(fields_.contains(name), name, place_); });
    read({.axes = true, .results = false, .measured = false}, row);
    return report::about(row);
  }

 private:
  core::InputPlace place_;
  std::map<std::string, std::string> fields_;
};

}  // namespace

CellResult parse_record(const std::string& text) {
  return read_row(core::parse_json<Json>(text, ""), {"", 0, "row"});
}

ResultSet parse_results(const std::string& text, const std::string& file) {
  const Json json = core::parse_json<Json>(text, file);
  if (!json.is_object() || !json.contains("results") || !json["results"].is_array())
    throw core::BadInput({file, 0, "results"}, "this is no results file: expected a list of results");
  ResultSet out;
  if (json.contains("provenance"))
    out.provenance = read_provenance(json["provenance"], {file, 0, "provenance"});
  for (const Json& row : json["results"])
    out.rows.push_back(read_row(row, {file, 0, fmt::format("results[{}]", out.rows.size())}));
  return out;
}

Provenance parse_provenance(const std::string& text, const std::string& file) {
  return read_provenance(core::parse_json<Json>(text, file), {file, 0, ""});
}

void add_columns(std::vector<CellResult>& rows, const std::string& csv, const std::string& file) {
  std::map<About, CellResult*> index;
  for (CellResult& row : rows) index.emplace(about(row), &row);
  CsvReader reader(csv);
  if (!reader.next()) throw core::BadInput({file, 1, ""}, "expected a header");
  const auto columns = reader.fields();
  while (reader.next()) {
    const ResultRecord record(columns, reader.fields(), {file, reader.line(), ""});
    const auto found = index.find(record.about());
    if (found != index.end()) record.read(kAll, *found->second);
  }
}

}  // namespace penstock::report
