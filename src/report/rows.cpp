#include "penstock/report/rows.hpp"

#include <charconv>
#include <nlohmann/json.hpp>

#include "csv.hpp"

namespace penstock::report {
namespace {

using Json = nlohmann::ordered_json;

std::string line(const std::vector<std::string>& cells) {
  std::string out;
  for (const std::string& cell : cells) out += csv_cell(cell) + ',';
  if (!out.empty()) out.pop_back();
  return out + '\n';
}

/// Value of a cell: null, a number or a text.
Json value(const std::string& cell) {
  double number = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  if (cell.empty()) return {};
  return error == std::errc() && end == cell.data() + cell.size() ? Json(number) : Json(cell);
}

}  // namespace

std::string to_csv(const TextRows& rows) {
  std::string out = line(rows.columns);
  for (const auto& cells : rows.cells) out += line(cells);
  return out;
}

std::string rows_json(const TextRows& rows) {
  Json results = Json::array();
  for (const auto& cells : rows.cells) {
    Json& row = results.emplace_back(Json::object());
    for (std::size_t c = 0; c < cells.size(); ++c) row[rows.columns[c]] = value(cells[c]);
  }
  const Json out = {{"results", std::move(results)}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace penstock::report
