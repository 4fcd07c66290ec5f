#include "penstock/report/csv_record.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>
#include <utility>

#include "csv_reader.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/plain_text.hpp"

namespace penstock::report {

CsvRecord::CsvRecord(std::shared_ptr<const Header> header, std::vector<std::string> fields, int line,
                     std::string file)
    : header_(std::move(header)), fields_(std::move(fields)), line_(line), file_(std::move(file)) {}

void CsvRecord::fail(const std::string& column, const std::string& message) const {
  throw core::BadInput({file_, line_, column}, message);
}

std::string CsvRecord::text(const std::string& column) const {
  const auto found = header_->find(column);
  if (found == header_->end()) throw core::BadInput({file_, 1, column}, "this column is missing");
  return found->second < fields_.size() ? fields_[found->second] : "";
}

std::string CsvRecord::word(const std::string& column, const std::vector<std::string>& known) const {
  std::string out = text(column);
  if (std::find(known.begin(), known.end(), out) == known.end())
    fail(column, fmt::format("expected {}, not '{}'", fmt::join(known, " or "), out));
  return out;
}

std::int64_t CsvRecord::count(const std::string& column, std::int64_t least, std::int64_t most) const {
  return whole(column, text(column), least, most);
}

std::vector<std::int64_t> CsvRecord::counts(const std::string& column, std::int64_t least,
                                            std::int64_t most) const {
  std::istringstream in(text(column));
  std::vector<std::int64_t> out;
  for (std::string part; in >> part;) out.push_back(whole(column, part, least, most));
  return out;
}

double CsvRecord::positive(const std::string& column) const {
  const std::string value = text(column);
  double out = 0;
  const char* end = value.data() + value.size();
  const auto [stop, fault] = std::from_chars(value.data(), end, out);
  if (fault != std::errc() || stop != end || !std::isfinite(out) || out <= 0)
    fail(column, fmt::format("expected a number above zero, not '{}'", value));
  return out;
}

std::int64_t CsvRecord::whole(const std::string& column, const std::string& value, std::int64_t least,
                              std::int64_t most) const {
  std::int64_t out = 0;
  const char* end = value.data() + value.size();
  const auto [stop, fault] = std::from_chars(value.data(), end, out);
  if (fault != std::errc() || stop != end || out < least || out > most)
    fail(column, fmt::format("expected an integer from {} to {}, not '{}'", least, most, value));
  return out;
}

std::vector<CsvRecord> csv_records(const std::string& text, const std::string& file) {
  core::check_plain_text(text, file);
  CsvReader reader(text);
  auto header = std::make_shared<CsvRecord::Header>();
  const std::size_t columns = reader.next() ? reader.fields().size() : 0;
  if (columns > 0)
    for (std::size_t i = 0; i < reader.fields().size(); ++i)
      if (const std::string& column = reader.fields()[i];
          !header->emplace(column, i).second && !column.empty())
        throw core::BadInput({file, reader.line(), column}, "two columns have this name");
  std::vector<CsvRecord> out;
  while (reader.next()) {
    if (reader.fields().size() > columns)
      throw core::BadInput({file, reader.line(), ""},
                           fmt::format("{} fields under {} columns", reader.fields().size(), columns));
    out.emplace_back(header, reader.fields(), reader.line(), file);
  }
  return out;
}

}  // namespace penstock::report
