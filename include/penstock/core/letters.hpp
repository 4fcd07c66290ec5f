#pragma once
// Names that are compared without regard to case.

#include <algorithm>
#include <cctype>
#include <string>

namespace penstock::core {

/// Converts ASCII letters to lower case; other bytes are unchanged.
inline std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

}  // namespace penstock::core
