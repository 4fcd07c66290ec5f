#pragma once
// Reading CSV (RFC 4180) record by record. Private to the room.

#include <string>
#include <string_view>
#include <vector>

namespace penstock::report {

/// Lines end with LF or CR LF; a quoted field may span several lines, and "" in it is one quote. The
/// apostrophe that csv_cell puts before text like a formula is removed.
class CsvReader {
 public:
  explicit CsvReader(std::string_view text) : rest_(text) {}

  /// Goes to the next record, skipping empty lines; returns false at the end.
  bool next();
  const std::vector<std::string>& fields() const { return fields_; }
  /// Line on which the record begins, from 1.
  int line() const { return line_; }

 private:
  void read_field();
  void read_text(std::string& field);
  char take();
  std::string_view rest_;
  std::vector<std::string> fields_;
  int line_ = 0, next_line_ = 1;
};

}  // namespace penstock::report
