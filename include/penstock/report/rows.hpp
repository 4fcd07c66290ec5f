#pragma once
// Results of any kind as text cells: what claims are judged on.

#include <string>
#include <vector>

namespace penstock::report {

struct Rows {
  std::vector<std::string> columns;
  std::vector<std::string> axes;  ///< the columns that say what a row is about; together they name it
  std::vector<std::vector<std::string>> cells;  ///< [row][column]; empty where a row has no value
};

/// Header, then one line per row. Quoting after RFC 4180 (Shafranovich, 2005); differs in ending lines with
/// LF alone, so that results read well in a diff.
std::string to_csv(const Rows& rows);

/// {"results": [...]}: cells that read as numbers are numbers, empty ones null.
std::string rows_json(const Rows& rows);

}  // namespace penstock::report
