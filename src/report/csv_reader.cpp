#include "csv_reader.hpp"

#include "csv.hpp"

namespace penstock::report {

char CsvReader::take() {
  const char c = rest_.front();
  rest_.remove_prefix(1);
  next_line_ += c == '\n';
  return c;
}

void CsvReader::read_field() {
  std::string& field = fields_.emplace_back();
  read_text(field);
  if (field.starts_with('\'') && like_formula(field)) field.erase(0, 1);
}

/// Reads a field up to the comma or line end behind it.
void CsvReader::read_text(std::string& field) {
  for (bool quoted = false; !rest_.empty();) {
    if (!quoted && (rest_.front() == ',' || rest_.front() == '\n' || rest_.starts_with("\r\n"))) return;
    const char c = take();
    if (c != '"')
      field += c;
    else if (quoted && rest_.starts_with('"'))
      field += take();
    else
      quoted = !quoted;
  }
}

bool CsvReader::next() {
  while (rest_.starts_with('\n') || rest_.starts_with("\r\n")) take();
  if (rest_.empty()) return false;
  fields_.clear();
  line_ = next_line_;
  read_field();
  while (rest_.starts_with(',')) take(), read_field();
  return true;
}

}  // namespace penstock::report
