#pragma once
// Lists of devices for tables.

#include <fmt/format.h>

#include <string>
#include <vector>

#include "penstock/core/ids.hpp"

namespace penstock::experiment {

/// Returns a text such as "0-63 128-191".
inline std::string device_ranges(const std::vector<core::DeviceId>& devices) {
  std::string out;
  for (std::size_t first = 0, end = 0; first < devices.size(); first = end) {
    for (end = first + 1; end < devices.size() && devices[end].index() == devices[end - 1].index() + 1;)
      ++end;
    out += fmt::format("{}{}", first == 0 ? "" : " ", devices[first].index());
    if (end - first > 1) out += fmt::format("-{}", devices[end - 1].index());
  }
  return out;
}

}  // namespace penstock::experiment
