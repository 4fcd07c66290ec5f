#include "penstock/report/column_choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string_view>

#include "column_words.hpp"
#include "columns.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/spelling.hpp"
#include "penstock/report/table.hpp"
#include "shown.hpp"

namespace penstock::report {
namespace {

using Names = std::vector<std::string>;

constexpr std::size_t kMostOfPaper = 9;

bool contains(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

/// Formats a number by its column's kind (ColumnWords).
std::string shown_number(double number, std::string_view kind) {
  if (kind == "share") return shown::percent(number);
  if (kind == "signed") return shown::error(number);
  if (kind == "time") return shown::time(number);
  if (kind == "times") return shown::times(number);
  if (kind == "rate") return number >= 10 ? fmt::format("{:.1f}", number) : fmt::format("{:#.3g}", number);
  return fmt::format("{:.4g}", number);
}

std::string shown_value(const std::string& text, std::string_view) {
  return text;
}
std::string shown_value(std::int64_t count, std::string_view kind) {
  return kind == "bytes" ? shown::bytes(count) : std::to_string(count);
}
std::string shown_value(double number, std::string_view kind) {
  return shown_number(number, kind);
}
std::string shown_value(const plan::ValueRange& extent, std::string_view) {
  return plan::text(extent);
}
template <class T>
std::string shown_value(const std::optional<T>& value, std::string_view kind) {
  return value ? shown_value(*value, kind) : "-";
}

std::string_view kind_of(std::string_view name) {
  const ColumnWords* words = words_of(plan_words(), name);
  return words ? words->kind : "text";
}

/// Values of a row for people, by column name.
std::map<std::string, std::string> shown_values(const CellResult& row, const TextRows& axes,
                                                std::size_t index) {
  std::map<std::string, std::string> out;
  each_field(row, kAllAndRatio,
             [&](const char* name, const auto& value) { out[name] = shown_value(value, kind_of(name)); });
  for (std::size_t c = 0; c < axes.columns.size(); ++c)
    if (!out.contains(axes.columns[c])) out[axes.columns[c]] = axes.cells[index][c];
  if (!row.samples_per_s) out["samples_per_s"] = shown::status(row);
  return out;
}

bool is_number(std::string_view name) {
  return kind_of(name) != "text";
}

/// [row] columns that identify problem and planner
using Keys = std::vector<Names>;

Keys keys_of(std::span<const CellResult> rows, const Names& names) {
  return chosen_rows(rows, names).cells;
}

std::size_t distinct(const Keys& keys) {
  return std::set<Names>(keys.begin(), keys.end()).size();
}

const Names& about_names() {
  static const Names out = {"model", "cluster", "devices", "mini_batch", "setting", "planner"};
  return out;
}

bool any_ratio(std::span<const CellResult> rows) {
  return std::ranges::any_of(rows, [](const CellResult& row) { return row.ratio.has_value(); });
}

}  // namespace

Names column_names(std::span<const CellResult> rows) {
  return to_rows(rows, true).columns;
}

Names parse_columns(const std::string& text, std::span<const CellResult> rows) {
  const Names known = column_names(rows);
  Names out;
  std::istringstream in(text);
  for (std::string name; std::getline(in, name, ',');) {
    if (!contains(known, name))
      throw core::BadInput(fmt::format("unknown column '{}'; {}\ncolumns: {}", name,
                                       core::did_you_mean(name, known), fmt::join(known, ", ")));
    if (contains(out, name)) throw core::BadInput("column '" + name + "' is given twice");
    if (name == "ratio" && !any_ratio(rows))
      throw core::BadInput("no row has a ratio: the experiment names no baseline; --baseline PLANNER does");
    out.push_back(name);
  }
  if (out.empty()) throw core::BadInput("expected names of columns with commas between, such as model,mfu");
  return out;
}

Names paper_columns(std::span<const CellResult> rows) {
  const auto all = distinct(keys_of(rows, about_names()));
  const auto without = [](Names names, std::string_view name) {
    std::erase(names, name);
    return names;
  };
  Names out;
  for (const std::string& name : about_names()) {
    const bool always = name == "model" || name == "planner";
    if (!always && distinct(keys_of(rows, {name})) < 2) continue;
    if (name == "mini_batch" && distinct(keys_of(rows, without(about_names(), name))) == all) continue;
    out.push_back(name);
  }
  const bool ratio = any_ratio(rows), tokens = shown::any_tokens(rows);
  for (const char* name :
       {"samples_per_s", "ratio", "strategy", "mfu", "peak_memory_bytes", "bubble", "gap", "tokens_per_s"}) {
    const std::string_view wanted(name);
    if ((wanted == "ratio" && !ratio) || (wanted == "tokens_per_s" && !tokens)) continue;
    if (out.size() < kMostOfPaper) out.emplace_back(name);
  }
  return out;
}

std::string same_in_all(std::span<const CellResult> rows, const Names& names) {
  if (rows.size() < 2) return "";
  Names parts;
  for (const std::string& name : about_names()) {
    const Keys keys = keys_of(rows, {name});
    if (!contains(names, name) && distinct(keys) == 1 && !keys.front().front().empty())
      parts.push_back(fmt::format("{} {}", name == "mini_batch" ? "mini-batch" : name, keys.front().front()));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

TextRows chosen_rows(std::span<const CellResult> rows, const Names& names) {
  const TextRows all = to_rows(rows, true);
  TextRows out{names, {}, {}};
  std::vector<std::size_t> places;
  for (const std::string& name : names)
    places.push_back(static_cast<std::size_t>(std::ranges::find(all.columns, name) - all.columns.begin()));
  for (const auto& cells : all.cells) {
    Names& chosen = out.cells.emplace_back();
    for (const std::size_t place : places) chosen.push_back(cells.at(place));
  }
  return out;
}

std::string chosen_json(std::span<const CellResult> rows, const Names& names, const Provenance& provenance) {
  using Json = nlohmann::ordered_json;
  Json out = {{"provenance", Json::parse(to_json(provenance))}};
  out.update(Json::parse(rows_json(chosen_rows(rows, names))));
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::vector<ChosenColumn> chosen_columns(std::span<const CellResult> rows, const Names& names) {
  std::vector<ChosenColumn> out;
  for (const std::string& name : names) out.push_back({title_of(plan_words(), name), is_number(name), {}});
  const TextRows axes = to_rows(rows);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const auto values = shown_values(rows[r], axes, r);
    for (std::size_t c = 0; c < names.size(); ++c) out[c].cells.push_back(values.at(names[c]));
  }
  return out;
}

std::string chosen_table(std::span<const CellResult> rows, const Names& names, const ScreenLimits& screen) {
  const std::vector<ChosenColumn> chosen = chosen_columns(rows, names);
  std::vector<Column> columns;
  for (const ChosenColumn& column : chosen)
    columns.push_back({.title = column.title,
                       .align = column.number ? Align::right : Align::left,
                       .folds = !column.number});
  Table table(std::move(columns));
  for (std::size_t r = 0; r < rows.size(); ++r) {
    Names cells;
    for (const ChosenColumn& column : chosen) cells.push_back(column.cells[r]);
    table.add(std::move(cells));
  }
  return table.text(screen);
}

}  // namespace penstock::report
