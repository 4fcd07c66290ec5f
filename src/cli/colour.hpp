#pragma once
// Tables in colour, for a terminal.

#include <string>
#include <string_view>

namespace penstock::cli {

/// Standard output is a terminal that shows colours, and NO_COLOR is not set (see no-color.org).
bool colour_wanted();

/// Printed text with the heads of its tables in bold and, in tables of planners on one problem, the best
/// value of a column in green. A table's head is the line above one of dashes; the widths of the dashes are
/// those of its columns.
std::string coloured(std::string_view text);

}  // namespace penstock::cli
