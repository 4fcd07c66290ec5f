#pragma once
// How far one number is from another, as people read it.

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace penstock::report {

/// "+4.9 %", "-0.3 %" of the shares 0.049 and -0.003, and `unit` behind; what rounds to nothing has no sign.
inline std::string difference(double share, std::string_view unit = " %") {
  const std::string number = fmt::format("{:+.1f}", share * 100);
  const bool none = number == "+0.0" || number == "-0.0";
  return number.substr(none ? 1 : 0).append(unit);
}

}  // namespace penstock::report
