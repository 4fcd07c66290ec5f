#pragma once
// Columns of a table for which a screen has room, and their widths. Private to the room.

#include <vector>

#include "penstock/report/table.hpp"

namespace penstock::report {

struct TableFit {
  std::vector<std::size_t> columns;  ///< columns that stay, from left to right
  std::vector<std::size_t> widths;   ///< their widths in terminal cells
};

/// Fits columns of `widths` cells, at most `most` of them (0: any number), on a screen of `room` cells (0:
/// unlimited), with `gap` cells between two. Words fold to no less than a few cells. If columns were dropped
/// and it is still too wide, the first one is cut.
TableFit fit(const std::vector<Column>& columns, const std::vector<std::size_t>& widths, std::size_t gap,
             std::size_t room, std::size_t most);

}  // namespace penstock::report
