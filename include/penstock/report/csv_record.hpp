#pragma once
// CSV tables from others, read by the names of their columns.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace penstock::report {

/// One record of a CSV file (RFC 4180) with a header. All readers throw BadInput naming file, line and
/// column, for a missing column and for invalid values.
class CsvRecord {
 public:
  using Header = std::map<std::string, std::size_t>;  ///< column to index in a record
  CsvRecord(std::shared_ptr<const Header> header, std::vector<std::string> fields, int line,
            std::string file);

  int line() const { return line_; }
  bool has(const std::string& column) const { return header_->contains(column); }
  std::string text(const std::string& column) const;
  std::string word(const std::string& column, const std::vector<std::string>& known) const;
  std::int64_t count(const std::string& column, std::int64_t least, std::int64_t most) const;
  /// Whole numbers separated by blanks; empty if the field is empty.
  std::vector<std::int64_t> counts(const std::string& column, std::int64_t least, std::int64_t most) const;
  double positive(const std::string& column) const;  ///< finite, above zero
  [[noreturn]] void fail(const std::string& column, const std::string& message) const;

 private:
  std::int64_t whole(const std::string& column, const std::string& value, std::int64_t least,
                     std::int64_t most) const;

  std::shared_ptr<const Header> header_;
  std::vector<std::string> fields_;
  int line_;
  std::string file_;
};

/// Records after the header.
std::vector<CsvRecord> csv_records(const std::string& text, const std::string& file);

}  // namespace penstock::report
