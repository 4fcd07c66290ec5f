#pragma once
// The text table of every command.

#include <cstdint>
#include <string>
#include <vector>

#include "penstock/report/lines.hpp"

namespace penstock::report {

enum class Align : std::uint8_t { left, right };

struct Column {
  std::string title;
  Align align = Align::left;
  /// Priority on screens that are narrow or limit the number of columns. Columns with 1 are dropped first, then
  /// columns with 2, and so on; then columns with 0, the rightmost first. The first column stays.
  int leaves = 0;
  bool folds = false;    ///< column of words, which may take several lines
  std::size_t most = 0;  ///< most cells of a column of words, on any screen; 0: no limit
};

/// Collects rows, then lays them out; a column is as wide as its widest cell on the screen.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// Adds one cell per column. Line breaks and other control characters become blanks.
  void add(std::vector<std::string> cells);
  /// Lines end in a line feed and never in blanks. On a narrow screen columns of words fold, others are
  /// dropped, and a last line names the dropped ones, as it names columns beyond the screen's number.
  std::string text(const ScreenLimits& screen = {}) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace penstock::report
