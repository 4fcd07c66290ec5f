#include "table_fit.hpp"

#include <algorithm>
#include <limits>

namespace penstock::report {
namespace {

constexpr std::size_t kFewest = 20;  ///< minimum cells of a column of words: about three words

/// Minimum width of a column; narrower columns of words are unreadable.
std::size_t least(const Column& column, std::size_t width) {
  return column.folds ? std::min(width, std::max(kFewest, display_width(column.title))) : width;
}

std::size_t sum(const std::vector<std::size_t>& widths, std::size_t gap) {
  std::size_t total = gap * (widths.size() - 1);
  for (const std::size_t width : widths) total += width;
  return total;
}

/// Index in `kept` of the column to drop next.
std::size_t next_to_leave(const std::vector<Column>& columns, const std::vector<std::size_t>& kept) {
  const auto rank = [&](std::size_t column) {
    const int leaves = columns[column].leaves;
    return leaves > 0 ? leaves : std::numeric_limits<int>::max();
  };
  std::size_t out = 1;
  for (std::size_t i = 1; i < kept.size(); ++i)
    if (rank(kept[i]) <= rank(kept[out])) out = i;
  return out;
}

/// Gives the remaining room to the columns of words, the narrowest first.
void widen(const std::vector<std::size_t>& wanted, std::size_t left, std::vector<std::size_t>& widths) {
  while (left > 0) {
    std::size_t next = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i)
      if (widths[i] < wanted[i] && (next == widths.size() || widths[i] < widths[next])) next = i;
    if (next == widths.size()) return;
    ++widths[next];
    --left;
  }
}

}  // namespace

TableFit fit(const std::vector<Column>& columns, const std::vector<std::size_t>& widths, std::size_t gap,
             std::size_t room, std::size_t most) {
  TableFit out;
  for (std::size_t c = 0; c < columns.size(); ++c) out.columns.push_back(c);
  out.widths = widths;
  while (most > 0 && out.columns.size() > most) {
    const auto leaving = static_cast<std::ptrdiff_t>(next_to_leave(columns, out.columns));
    for (auto* list : {&out.columns, &out.widths}) list->erase(list->begin() + leaving);
  }
  if (room == 0 || sum(out.widths, gap) <= room) return out;
  std::vector<std::size_t> wanted = out.widths;
  for (std::size_t i = 0; i < wanted.size(); ++i) out.widths[i] = least(columns[out.columns[i]], wanted[i]);
  while (sum(out.widths, gap) > room && out.columns.size() > 1) {
    const auto leaving = static_cast<std::ptrdiff_t>(next_to_leave(columns, out.columns));
    for (auto* list : {&out.columns, &out.widths, &wanted}) list->erase(list->begin() + leaving);
  }
  if (const std::size_t used = sum(out.widths, gap); used <= room)
    widen(wanted, room - used, out.widths);
  else
    out.widths.front() = room;
  return out;
}

}  // namespace penstock::report
