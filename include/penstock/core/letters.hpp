#pragma once
// Names that are compared whatever their case.

#include <algorithm>
#include <cctype>
#include <string>

namespace penstock::core {

/// ASCII letters become small; other bytes stay.
inline std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

}  // namespace penstock::core
