#pragma once
// Which columns of a table a screen has room for, and how wide they are. Private to the room.

#include <vector>

#include "penstock/report/table.hpp"

namespace penstock::report {

struct TableFit {
  std::vector<std::size_t> columns;  ///< those that stay, from left to right
  std::vector<std::size_t> widths;   ///< theirs, in terminal cells
};

/// Of columns that would be `widths` cells wide, on a screen of `room` cells (0: any number) that has `gap`
/// between two of them. Words fold to no less than a few cells; when columns have left and it is still too
/// much, the first one is cut.
TableFit fit(const std::vector<Column>& columns, const std::vector<std::size_t>& widths, std::size_t gap,
             std::size_t room);

}  // namespace penstock::report
