#pragma once
// Cells that are numbers. Private to the room.

#include <charconv>
#include <optional>
#include <string>

namespace penstock::report {

/// Parses a number; nothing for a text that is not a number from its first to its last character.
inline std::optional<double> number(const std::string& text) {
  double out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return out;
}

}  // namespace penstock::report
