#include "entry.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <string_view>

#include "penstock/core/digest.hpp"
#include "penstock/experiment/inputs.hpp"
#include "penstock/plan/plan_file.hpp"
#include "penstock/report/timeline_svg.hpp"
#include "penstock/report/track_event.hpp"

namespace penstock::experiment {
namespace {

std::string head(const std::string& key) {
  return "penstock cell 1 " + key + "\n";
}

std::string seal(std::string_view content) {
  return "end " + core::digest(content) + "\n";
}

/// Removes `prefix` from the start of `text`, if it is there.
bool skip(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

/// Removes a part such as "3
/// abc
/// " from the start of `text`.
std::optional<std::string> take_part(std::string_view& text) {
  std::size_t size = 0;
  const auto [rest, fault] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (fault != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  if (!skip(text, "\n") || text.size() < size) return std::nullopt;
  std::string part(text.substr(0, size));
  text.remove_prefix(size);
  if (!skip(text, "\n")) return std::nullopt;
  return part;
}

/// Parts between head and seal, if both are right.
std::optional<std::array<std::string, 4>> parts_of(std::string_view text, const std::string& key) {
  const std::size_t end = seal("").size();
  if (text.size() < end) return std::nullopt;
  std::string_view content = text.substr(0, text.size() - end);
  if (text.substr(content.size()) != seal(content) || !skip(content, head(key))) return std::nullopt;
  std::array<std::string, 4> parts;
  for (std::string& part : parts) {
    auto found = take_part(content);
    if (!found) return std::nullopt;
    part = std::move(*found);
  }
  return parts;
}

std::string timeline(const CellOutcome& outcome) {
  report::TimelineStyle style;
  style.title = fmt::format("{} on {} devices of {}, {}", outcome.row.model, outcome.row.devices,
                            outcome.row.cluster, outcome.row.planner);
  return report::to_svg(*outcome.trace, style);
}

}  // namespace

CacheEntry entry_of(const InputSnapshot& inputs, const Cell& cell, const CellOutcome& outcome) {
  // In the form in which it will be read.
  CacheEntry entry{report::parse_record(report::to_record(outcome.row)), {}, {}, {}};
  if (!outcome.plan) return entry;
  entry.plan = plan::to_yaml(inputs.model(cell.model), *outcome.plan);
  report::write_track_events(*outcome.trace, &inputs.cluster(cell.cluster),
                             [&](std::string_view bytes) { entry.trace += bytes; });
  entry.timeline = timeline(outcome);
  return entry;
}

std::string encode(const CacheEntry& entry, const std::string& key) {
  std::string out = head(key);
  for (const std::string& part : {report::to_record(entry.row), entry.plan, entry.trace, entry.timeline})
    out += fmt::format("{}\n{}\n", part.size(), part);
  return out + seal(out);
}

std::optional<CacheEntry> decode(const std::string& text, const std::string& key) try {
  const auto parts = parts_of(text, key);
  if (!parts) return std::nullopt;
  const auto& [row, plan, trace, timeline] = *parts;
  return CacheEntry{report::parse_record(row), plan, trace, timeline};
} catch (const core::BadInput&) {
  return std::nullopt;
}

}  // namespace penstock::experiment
