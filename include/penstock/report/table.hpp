#pragma once
// The one text table every command prints.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::report {

enum class Align : std::uint8_t { left, right };
enum class Border : std::uint8_t {
  rule,  ///< plain ASCII: a rule of dashes under the header
  box,   ///< UTF-8 box lines all around
};

struct Column {
  std::string title;
  Align align = Align::left;
};

/// Collects rows, then lays them out; columns are as wide as their widest cell on the screen.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// One cell per column. Line breaks and other control characters are shown as blanks.
  void add(std::vector<std::string> cells);
  /// Lines end in '\n' and never in blanks.
  std::string text(Border border = Border::rule) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// Terminal cells that UTF-8 text takes: combining marks take none, East Asian wide characters two.
std::size_t display_width(std::string_view text);

}  // namespace penstock::report
