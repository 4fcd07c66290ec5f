#include "page_columns.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "column_words.hpp"
#include "columns.hpp"
#include "search_note.hpp"

namespace penstock::report {
namespace {

using Json = nlohmann::ordered_json;

/// A column; `place` is its position.
Json column(std::span<const ColumnWords> all, const std::string& name, const char* otherwise) {
  const ColumnWords* words = words_of(all, name);
  if (words == nullptr)
    return {{"name", name},      {"title", title_of(all, name)},  {"meaning", ""},
            {"kind", otherwise}, {"priority", kDetailColumn - 1}, {"place", all.size()}};
  return {{"name", name},        {"title", words->title},       {"meaning", words->meaning},
          {"kind", words->kind}, {"priority", words->priority}, {"place", words - all.data()}};
}

Json value(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}
Json value(std::int64_t number) {
  return number;
}
/// Nine digits are more than the page shows, and half as long. A number that is not finite becomes null.
Json value(double number) {
  return std::strtod(fmt::format("{:.9g}", number).c_str(), nullptr);
}
/// Types with a minimum and a maximum over stages.
template <class T>
concept Extent = requires(const T& extent) {
  extent.least, extent.most;
};
template <Extent T>
Json value(const T& extent) {
  return extent.least == extent.most ? Json(extent.least)
                                     : Json(fmt::format("{}-{}", extent.least, extent.most));
}
template <class T>
Json value(const std::optional<T>& there) {
  return there ? value(*there) : Json();
}

constexpr const char* kind(const std::string&) {
  return "text";
}
constexpr const char* kind(double) {
  return "ratio";
}
constexpr const char* kind(std::int64_t) {
  return "count";
}
template <Extent T>
constexpr const char* kind(const T&) {
  return "count";
}
template <class T>
constexpr const char* kind(const std::optional<T>&) {
  return kind(T{});
}

void add_plans(const ResultSet& results, Json& columns, Json& values) {
  const CellResult none;
  each_field(none, kAllAndRatio, [&](const char* name, const auto& field) {
    columns.push_back(column(plan_words(), name, kind(field)));
    if (columns.back()["name"] == "ratio")
      columns.back()["meaning"] = "throughput over that of " + results.baseline + " on the same problem";
    if (columns.back()["name"] == "search_s" && shared_cores(results.rows))
      columns.back()["caveat"] = kSharedCores;
    values.push_back(Json::array());
  });
  for (const CellResult& row : results.rows) {
    std::size_t c = 0;
    each_field(row, kAllAndRatio,
               [&](const char*, const auto& field) { values[c++].push_back(value(field)); });
  }
}

/// Value of a cell: null, a number or a text.
Json read(const std::string& cell, bool text) {
  double number = 0;
  const auto [end, fault] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  if (cell.empty()) return {};
  return !text && fault == std::errc() && end == cell.data() + cell.size() ? Json(number) : Json(cell);
}

void add_schedules(const TextRows& rows, Json& columns, Json& values) {
  for (std::size_t c = 0; c < rows.columns.size(); ++c) {
    const Json words = column(schedule_words(), rows.columns[c], "text");
    Json list = Json::array();
    for (const auto& cells : rows.cells) list.push_back(read(cells.at(c), words["kind"] == "text"));
    columns.push_back(words);
    values.push_back(std::move(list));
  }
}

}  // namespace

std::string columns_json(const Page& page) {
  const bool plans = page.schedules.cells.empty();
  Json columns = Json::array(), values = Json::array(), notes = Json::array();
  if (plans)
    add_plans(page.results, columns, values);
  else
    add_schedules(page.schedules, columns, values);
  for (const PageCell& cell : page.cells) notes.push_back(cell.note);
  const Json out = {{"study", plans ? "plans" : "schedules"},
                    {"by_throughput", page.winner.empty()},
                    {"columns", std::move(columns)},
                    {"values", std::move(values)},
                    {"notes", std::move(notes)}};
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace penstock::report
