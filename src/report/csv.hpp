#pragma once
// Cells of CSV.

#include <charconv>
#include <cmath>
#include <iterator>
#include <string>
#include <string_view>

namespace penstock::report {

inline std::string csv_quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

/// True for text that a spreadsheet treats as a formula (OWASP, "CSV Injection"), possibly behind
/// apostrophes.
inline bool like_formula(std::string_view text) {
  const std::size_t first = text.find_first_not_of('\'');
  return first != text.npos && std::string_view("=+-@\t\r").find(text[first]) != text.npos;
}

/// True for text that is harmless despite like_formula: a number, or the dash for a missing value.
inline bool number_or_dash(std::string_view text) {
  double number = 0;
  const auto [rest, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  return text == "-" || (fault == std::errc() && rest == text.data() + text.size());
}

/// Cell as in RFC 4180 (Shafranovich, 2005). Text like a formula gets an apostrophe in front, which CsvReader
/// removes.
inline std::string csv_cell(const std::string& text) {
  if (like_formula(text) && !number_or_dash(text)) return csv_quoted("'" + text);
  return csv_quoted(text);
}

/// Fewest digits that read back equal; empty if not finite.
inline std::string csv_cell(double number) {
  if (!std::isfinite(number)) return "";
  char digits[32];
  return {digits, std::to_chars(std::begin(digits), std::end(digits), number).ptr};
}

inline std::string csv_cell(std::int64_t number) {
  return std::to_string(number);
}

}  // namespace penstock::report
