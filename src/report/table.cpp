#include "penstock/report/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "penstock/core/error.hpp"
#include "table_fit.hpp"

namespace penstock::report {
namespace {

using Cells = std::vector<std::string>;

constexpr std::string_view kBetween = "  ";

std::string text_line(const Cells& cells) {
  std::string out;
  for (std::size_t c = 0; c < cells.size(); ++c) out += (c > 0 ? std::string(kBetween) : "") + cells[c];
  out.erase(out.find_last_not_of(' ') + 1);
  return out + '\n';
}

std::string padded(const std::string& cell, std::size_t width, Align align) {
  const std::string blanks(width - display_width(cell), ' ');
  return align == Align::right ? blanks + cell : cell + blanks;
}

Cells dashes(const std::vector<std::size_t>& widths) {
  Cells out;
  for (const std::size_t width : widths) out.emplace_back(width, '-');
  return out;
}

std::vector<std::size_t> natural_widths(const std::vector<Column>& columns, const std::vector<Cells>& rows) {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    widths.push_back(display_width(columns[c].title));
    for (const Cells& row : rows) widths[c] = std::max(widths[c], display_width(row[c]));
    if (columns[c].most > 0) widths[c] = std::min(widths[c], columns[c].most);
  }
  return widths;
}

/// Lays a row out over as many lines as its cells need.
std::string laid_out(const std::vector<Column>& columns, const TableFit& fit, const Cells& row) {
  std::vector<Cells> pieces;
  std::size_t lines = 1;
  for (std::size_t i = 0; i < fit.columns.size(); ++i) {
    pieces.push_back(wrapped(row[fit.columns[i]], fit.widths[i]));
    lines = std::max(lines, pieces.back().size());
  }
  std::string out;
  for (std::size_t l = 0; l < lines; ++l) {
    Cells cells;
    for (std::size_t i = 0; i < pieces.size(); ++i)
      cells.push_back(
          padded(l < pieces[i].size() ? pieces[i][l] : "", fit.widths[i], columns[fit.columns[i]].align));
    out += text_line(cells);
  }
  return out;
}

/// Returns a text such as "not shown: depth, states (--columns all shows them)".
std::string left_out(const std::vector<Column>& columns, const TableFit& fit, const ScreenLimits& screen) {
  Cells titles;
  for (std::size_t c = 0; c < columns.size(); ++c)
    if (std::find(fit.columns.begin(), fit.columns.end(), c) == fit.columns.end())
      titles.push_back(columns[c].title);
  if (titles.empty()) return "";
  const std::string more = screen.more.empty() ? "" : " (" + screen.more + ")";
  return folded(fmt::format("not shown: {}{}\n", fmt::join(titles, ", "), more), screen.width);
}

}  // namespace

void Table::add(std::vector<std::string> cells) {
  core::require(cells.size() == columns_.size(), "a table row has one cell per column");
  for (std::string& cell : cells) cell = in_one_line(cell);
  rows_.push_back(std::move(cells));
}

std::string Table::text(const ScreenLimits& screen) const {
  const TableFit shown =
      fit(columns_, natural_widths(columns_, rows_), kBetween.size(), screen.width, screen.columns);
  Cells titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  std::string out = laid_out(columns_, shown, titles) + text_line(dashes(shown.widths));
  for (const Cells& row : rows_) out += laid_out(columns_, shown, row);
  return out + left_out(columns_, shown, screen);
}

}  // namespace penstock::report
