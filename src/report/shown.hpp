#pragma once
// Values of a results row for people; "-" if missing. Private to the room.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>

#include "penstock/core/quantity_text.hpp"
#include "penstock/report/difference.hpp"
#include "penstock/report/results.hpp"

namespace penstock::report::shown {

inline std::string number(const std::optional<std::int64_t>& value) {
  return value ? std::to_string(*value) : "-";
}
inline std::string text(const std::optional<std::string>& value) {
  return value.value_or("-");
}
inline std::string extent(const std::optional<plan::ValueRange>& value) {
  return value ? plan::text(*value) : "-";
}
/// Returns a text such as "3/4": recomputing stages of all stages.
inline std::string recompute(const CellResult& row) {
  return row.recompute ? fmt::format("{}/{}", *row.recompute, row.stages.value_or(0)) : "-";
}
inline std::string decimal(const std::optional<double>& value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "-";
}
inline std::string percent(const std::optional<double>& share) {
  return share ? fmt::format("{:.1f}%", *share * 100) : "-";
}
/// Error with its sign: "+4.9%"; "0.0%" without one.
inline std::string error(const std::optional<double>& share) {
  return share ? difference(*share, "%") : "-";
}
/// Ratio such as "1.21x"; empty if there is none.
inline std::string times(const std::optional<double>& ratio) {
  return ratio ? fmt::format("{:.2f}x", *ratio) : "";
}
inline std::string time(const std::optional<double>& seconds) {
  return seconds ? core::show(core::Seconds(*seconds)) : "-";
}
inline std::string bytes(const std::optional<std::int64_t>& count) {
  return count ? core::show(core::Bytes(*count)) : "-";
}
/// Rounded bytes of a mean.
inline std::string rounded_bytes(double count) {
  return core::show(core::Bytes(std::llround(count)));
}
/// Short status: "infeasible: no room" becomes "infeasible".
inline std::string status(const CellResult& row) {
  return row.status.substr(0, row.status.find(':'));
}
/// True if a table of these rows needs a column for it.
inline bool any_setting(std::span<const CellResult> rows) {
  return std::any_of(rows.begin(), rows.end(), [](const CellResult& row) { return !row.setting.empty(); });
}
inline bool any_tokens(std::span<const CellResult> rows) {
  return std::any_of(rows.begin(), rows.end(),
                     [](const CellResult& row) { return row.tokens_per_s.has_value(); });
}

}  // namespace penstock::report::shown
