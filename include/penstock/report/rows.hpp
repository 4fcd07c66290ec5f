#pragma once
// Results of any kind as text cells, on which claims are judged.

#include <string>
#include <vector>

namespace penstock::report {

struct TextRows {
  std::vector<std::string> columns;
  std::vector<std::string> axes;                ///< columns that together identify a row
  std::vector<std::vector<std::string>> cells;  ///< [row][column] empty if a row has no value
};

/// Header, then one line per row. Quoting as in RFC 4180 (Shafranovich, 2005). Differs: lines end with LF
/// only, so that diffs of results are readable.
std::string to_csv(const TextRows& rows);

/// JSON {"results": [...]}: cells that parse as numbers are numbers, empty ones null.
std::string rows_json(const TextRows& rows);

}  // namespace penstock::report
