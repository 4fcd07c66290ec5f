#pragma once
// Note on search times. Private to the room.

#include <algorithm>
#include <span>
#include <string_view>

#include "penstock/report/results.hpp"

namespace penstock::report {

/// True if searches shared the cores: only searches that ran one by one have their memory measured.
inline bool shared_cores(std::span<const CellResult> rows) {
  const auto timed = [](const CellResult& row) { return row.search_s.has_value(); };
  const auto alone = [](const CellResult& row) { return row.search_memory_bytes.has_value(); };
  return rows.size() > 1 && std::ranges::any_of(rows, timed) && std::ranges::none_of(rows, alone);
}

inline constexpr std::string_view kSharedCores =
    "Cells ran side by side and shared the cores: a search alone takes less time ('searches: one_by_one' "
    "measures that).";

}  // namespace penstock::report
