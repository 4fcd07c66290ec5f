#pragma once
// Relative difference of two numbers, as text for people.

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace penstock::report {

/// Returns "+4.9 %" or "-0.3 %" for the shares 0.049 and -0.003, followed by `unit`; zero after rounding has
/// no sign.
inline std::string difference(double share, std::string_view unit = " %") {
  const std::string number = fmt::format("{:+.1f}", share * 100);
  const bool none = number == "+0.0" || number == "-0.0";
  return number.substr(none ? 1 : 0).append(unit);
}

}  // namespace penstock::report
