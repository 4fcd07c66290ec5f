#pragma once
// The table of results in HTML. Private to the room.

#include <string>

#include "penstock/report/page.hpp"

namespace penstock::report {

/// thead and tbody. Cells of numbers carry them in data-value, to sort by; the first of a row leads to
/// "#cell-<row>".
std::string table_content(const std::vector<CellResult>& rows);

/// "mmt · 8 devices of summit · mini-batch 128 · graphpipe".
std::string heading(const CellResult& row);

}  // namespace penstock::report
