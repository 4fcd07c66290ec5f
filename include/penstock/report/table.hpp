#pragma once
// The one text table every command prints.

#include <cstdint>
#include <string>
#include <vector>

#include "penstock/report/lines.hpp"

namespace penstock::report {

enum class Align : std::uint8_t { left, right };

struct Column {
  std::string title;
  Align align = Align::left;
  /// Where the screen is narrow, columns with 1 leave first, then those with 2, and so on; then those with 0,
  /// the rightmost first. The first column stays.
  int leaves = 0;
  bool folds = false;  ///< words, which may take several lines
};

/// Collects rows, then lays them out; columns are as wide as their widest cell on the screen.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// One cell per column. Line breaks and other control characters are shown as blanks.
  void add(std::vector<std::string> cells);
  /// Lines end in '\n' and never in blanks. On a narrow screen columns of words fold, others leave, and a
  /// last line names these.
  std::string text(const Screen& screen = {}) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace penstock::report
