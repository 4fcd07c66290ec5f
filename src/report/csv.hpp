#pragma once
// Cells of CSV.

#include <charconv>
#include <cmath>
#include <iterator>
#include <string>

namespace penstock::report {

/// After RFC 4180 (Shafranovich, 2005).
inline std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

/// The fewest digits that read back equal; empty for what is not finite.
inline std::string csv_cell(double number) {
  if (!std::isfinite(number)) return "";
  char digits[32];
  return {digits, std::to_chars(std::begin(digits), std::end(digits), number).ptr};
}

inline std::string csv_cell(std::int64_t number) {
  return std::to_string(number);
}

}  // namespace penstock::report
