#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "penstock/core/quantity_text.hpp"
#include "timeline_parts.hpp"

namespace penstock::report {
namespace {

using trace::TaskKind;

/// A drawing 16 pixels wide around the height zero, and its meaning.
struct LegendEntry {
  std::string_view sample;
  std::string_view meaning;
  std::optional<TaskKind> kind = {};  ///< left out unless the trace has such spans
  bool chunks = false;                ///< left out unless a device has several stages
  bool failure = false;               ///< left out unless a device runs out of memory
};

constexpr LegendEntry kWork[] = {
    {R"(<path class="forward" stroke-width="11" d="M0 0h16"/>)", "forward", TaskKind::forward},
    {R"(<path class="recompute" stroke-width="11" d="M0 0h16"/>)", "recomputation", TaskKind::recompute},
    {R"(<path class="backward" stroke-width="11" d="M0 0h16"/>)", "backward", TaskKind::backward},
    {R"(<path class="input_gradient" stroke-width="11" d="M0 0h16"/>)", "input gradient",
     TaskKind::input_gradient},
    {R"(<path class="weight_gradient" stroke-width="11" d="M0 0h16"/>)", "weight gradient",
     TaskKind::weight_gradient},
    {R"(<path class="all_reduce" stroke-width="11" d="M0 0h16"/>)", "all-reduce", TaskKind::all_reduce},
    {R"(<path class="step" stroke-width="11" d="M0 0h16"/>)", "optimizer step", TaskKind::step},
    {R"(<path class="idle" stroke-width="11" d="M0 0h16"/>)", "idle"},
    {R"(<path class="sent" stroke-width="3" d="M0 0h16"/>)", "sending", TaskKind::transfer},
    {R"(<path class="received" stroke-width="3" d="M0 0h16"/>)", "receiving", TaskKind::transfer},
    {R"(<text x="6" y="4">3</text>)", "micro-batch (3-7: several)"},
    {R"(<path class="forward" stroke-width="11" d="M0 0h16"/><path class="foot" stroke-width="2" d="M0 3h16"/>)",
     "of a later chunk",
     {},
     true},
};
constexpr LegendEntry kMemory[] = {
    {R"(<rect class="fixed" y="-6" width="16" height="11"/>)", "memory: weights, optimizer, workspace"},
    {R"(<rect class="moving" y="-6" width="16" height="11"/>)", "memory: activations, buffers"},
    {R"(<circle class="peak" cx="8" r="2.5"/>)", "peak"},
    {R"(<path class="capacity" d="M0 0h16"/>)", "device memory"},
    {R"(<path class="broke" d="M8 -6v11"/>)", "out of memory", {}, false, true},
};

/// Legend entries, closer together if they would not fit otherwise.
std::string legend_row(const TimelineScene& scene, int y, std::span<const LegendEntry> entries) {
  constexpr int kGap = 38, kNarrowGap = 26;
  const auto& devices = scene.trace.devices;
  const bool several =
      std::any_of(devices.begin(), devices.end(), [](const auto& d) { return d.stages.size() > 1; });
  std::vector<LegendEntry> shown;
  for (const LegendEntry& entry : entries)
    if ((!entry.kind || scene.shows(*entry.kind)) && (!entry.chunks || several) &&
        (!entry.failure || !scene.failures.empty()))
      shown.push_back(entry);
  const auto length = [](const LegendEntry& entry) {
    return 64 * static_cast<int>(entry.meaning.size()) / 10;
  };
  int end = TimelineLayout::kLeft;
  for (const LegendEntry& entry : shown) end += kGap + length(entry);
  const int gap = end > scene.style.width ? kNarrowGap : kGap;
  std::string out;
  int x = TimelineLayout::kLeft;
  for (const LegendEntry& entry : shown) {
    out += fmt::format("<g transform=\"translate({} {})\">{}<text x=\"21\" y=\"4\">{}</text></g>\n", x, y,
                       entry.sample, entry.meaning);
    x += gap + length(entry);
  }
  return out;
}

/// Step of 1, 2 or 5 times a power of ten that divides the time into at most ten.
std::int64_t nice_step(core::Picoseconds whole) {
  for (std::int64_t decade = 1;; decade *= 10)
    for (const int factor : {1, 2, 5})
      if (whole.value() / 10 < decade * factor) return decade * factor;
}

/// Largest unit of which the time holds at least two.
std::pair<std::int64_t, std::string_view> time_unit(core::Picoseconds whole) {
  constexpr std::pair<std::int64_t, std::string_view> kUnits[] = {
      {1'000'000'000'000, "s"}, {1'000'000'000, "ms"}, {1'000'000, "us"}, {1'000, "ns"}};
  for (const auto& unit : kUnits)
    if (whole.value() >= 2 * unit.first) return unit;
  return {1, "ps"};
}

/// Title; if it is wider than the picture, its beginning and end, cut at spaces. Models of the zoo are named
/// by all their parameters, and the end states the cluster.
std::string fitted(const std::string& title, double width) {
  constexpr double kLetter = 11;  // px, bold
  const auto most = static_cast<std::size_t>(std::max(40.0, (width - TimelineLayout::kLeft) / kLetter));
  if (title.size() <= most) return title;
  const std::size_t begin = title.rfind(' ', most / 2), end = title.find(' ', title.size() - most / 2 + 2);
  if (begin == title.npos || end == title.npos) return title;
  return title.substr(0, begin) + " …" + title.substr(end);
}

/// Iteration time and samples per second, bubble, exposed communication, peak memory.
std::string summary_line(const TimelineScene& scene) {
  const trace::Summary& s = scene.summary;
  const TimelineStyle& style = scene.style;
  const double per_step = s.samples_per_second * to_seconds(style.step).value();
  std::string line =
      style.step.value() > 0
          ? fmt::format("iteration {:.10g} steps · {:.3g} {}/step", scene.trace.iteration / style.step,
                        per_step, style.items)
          : fmt::format("iteration {} · {:.1f} {}/s", show(s.iteration), s.samples_per_second, style.items);
  line += fmt::format(" · bubble {:.1f} %{}", 100 * style.bubble.value_or(s.bubble),
                      style.bubble ? " of the longest rank span" : "");
  if (scene.shows(TaskKind::transfer) || scene.shows(TaskKind::all_reduce))
    line += fmt::format(" · exposed communication {:.1f} %", 100 * s.exposed_communication);
  if (scene.layout.memory > 0) line += fmt::format(" · peak memory {}", show(s.peak_memory));
  return line;
}

}  // namespace

std::string heading(const TimelineScene& scene) {
  const TimelineStyle& style = scene.style;
  const std::string title = style.title.empty() ? "Pipeline timeline" : fitted(style.title, style.width);
  return text_element(TimelineLayout::kLeft, 26, "title", title) +
         text_element(TimelineLayout::kLeft, 48, "summary", style.summary.value_or(summary_line(scene)));
}

std::string legend(const TimelineScene& scene) {
  return legend_row(scene, 72, kWork) + (scene.layout.memory > 0 ? legend_row(scene, 92, kMemory) : "");
}

std::string time_axis(const TimelineScene& scene) {
  const auto [unit, unit_name] = scene.style.step.value() > 0
                                     ? std::pair(scene.style.step.value(), std::string_view("steps"))
                                     : time_unit(length(scene.trace));
  const std::int64_t step = nice_step(length(scene.trace));
  const int bottom = scene.layout.top(scene.lanes);
  std::string out;
  const std::int64_t end = length(scene.trace).value();
  for (std::int64_t t = 0; t <= end; t += step) {
    const std::string x = px(TimelineLayout::kLeft * kPixel + scene.time.at(core::Picoseconds(t)));
    const double shown = static_cast<double>(t) / static_cast<double>(unit);
    out += fmt::format("<path class=\"grid\" d=\"M{} {}V{}\"/>\n", x, TimelineLayout::kTop - 8, bottom);
    for (const int y : {TimelineLayout::kTop - 12, bottom + 14})
      out += fmt::format("<text x=\"{}\" y=\"{}\" class=\"quiet middle\">{} {}</text>\n", x, y, shown,
                         unit_name);
  }
  return out;
}

}  // namespace penstock::report
