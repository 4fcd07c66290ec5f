#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "penstock/core/quantity_text.hpp"
#include "timeline_parts.hpp"

namespace penstock::report {
namespace {

/// True if numbers on this colour are dark.
bool dark_on(SpanPaint paint) {
  return paint == SpanPaint::recompute || paint == SpanPaint::backward || paint == SpanPaint::weight_gradient;
}

/// One horizontal stroke of the given thickness along the path; `y` is its upper edge.
std::string bar(std::string_view style, int y, int thickness, std::string_view path) {
  if (path.empty()) return "";
  return fmt::format("<path class=\"{}\" stroke-width=\"{}\" transform=\"translate(0 {})\" d=\"{}\"/>\n",
                     style, thickness, px(y * kPixel + thickness * kPixel / 2), path);
}

/// Relative moves and lines, one path per paint: a box takes about ten bytes.
std::array<std::string, kPaints> paths(const std::vector<SpanBox>& boxes) {
  std::array<std::string, kPaints> out;
  std::array<Tenths, kPaints> reached{};
  for (const SpanBox& box : boxes) {
    // Leave a gap between neighbours if there is room.
    const Tenths end = box.end - (box.end - box.x >= 3 * kPixel ? kPixel / 2 : 0);
    const auto p = static_cast<std::size_t>(box.paint);
    out[p] += fmt::format("m{} 0h{}", px(box.x - reached[p]), px(end - box.x));
    reached[p] = end;
  }
  return out;
}

/// White marks at the foot of passes of later chunks.
std::string feet(const std::vector<SpanBox>& boxes) {
  std::string out;
  Tenths reached = 0;
  for (const SpanBox& box : boxes) {
    if (!box.later) continue;
    out += fmt::format("m{} 0h{}", px(box.x - reached), px(box.end - box.x));
    reached = box.end;
  }
  return out;
}

std::string boxes(const TimelineLayout& layout, const DeviceLane& lane) {
  const auto path = paths(lane.boxes);
  const auto of = [&path](SpanPaint paint) -> const std::string& {
    return path[static_cast<std::size_t>(paint)];
  };
  // An all-reduce reaches lower than the computations drawn over it, so that its hidden part is visible below
  // them.
  return bar("idle", 0, layout.boxes, fmt::format("M0 0h{}", layout.plot())) +
         bar("all_reduce", 0, layout.boxes + TimelineLayout::kMarks - 1, of(SpanPaint::all_reduce)) +
         bar("forward", 0, layout.boxes, of(SpanPaint::forward)) +
         bar("recompute", 0, layout.boxes, of(SpanPaint::recompute)) +
         bar("backward", 0, layout.boxes, of(SpanPaint::backward)) +
         bar("input_gradient", 0, layout.boxes, of(SpanPaint::input_gradient)) +
         bar("weight_gradient", 0, layout.boxes, of(SpanPaint::weight_gradient)) +
         bar("step", 0, layout.boxes, of(SpanPaint::step)) +
         bar("foot", layout.boxes - 4, 2, feet(lane.boxes)) +
         bar("sent", layout.boxes + 1, 2, of(SpanPaint::sent)) +
         bar("received", layout.boxes + 4, 2, of(SpanPaint::received));
}

std::string numbers(const TimelineLayout& layout, const std::vector<BoxLabel>& labels) {
  std::string out = fmt::format("<g class=\"number\" transform=\"translate(0 {})\">", layout.boxes / 2 + 4);
  for (const BoxLabel& label : labels)
    out += fmt::format("<text x=\"{}\"{}>{}</text>", px(label.x),
                       dark_on(label.paint) ? " class=\"dark\"" : "", label.text);
  return out + "</g>\n";
}

/// Outline of the memory held, closed along the floor.
std::string outline(const std::vector<MemoryLevel>& levels, const LineScale& height, Tenths floor,
                    int width) {
  std::string out = fmt::format("M0 {}", px(floor));
  Tenths x = 0, y = floor;
  for (const MemoryLevel& level : levels) {
    const Tenths top = floor - height.at(level.bytes);
    if (top == y) continue;
    out += fmt::format("h{}v{}", px(level.x - x), px(top - y));
    x = level.x, y = top;
  }
  return out + fmt::format("H{}V{}z", width, px(floor));
}

/// Common memory scale of all lanes, a little above the highest peak, so that small amounts are visible and
/// comparable.
core::Bytes full_scale(const TimelineScene& scene) {
  core::Bytes highest(1);
  for (const trace::DeviceSummary& device : scene.summary.devices) highest = std::max(highest, device.peak);
  return highest + highest / 8;
}

/// Line at the device's capacity, if the scale includes it.
std::string capacity_line(core::Bytes capacity, core::Bytes full, const LineScale& height, Tenths floor,
                          int width) {
  if (capacity > full) return "";
  return fmt::format("<path class=\"capacity\" d=\"M0 {}H{}\"/>\n", px(floor - height.at(capacity)), width);
}

/// Mark where the device runs out of memory, with the cause as a tooltip.
std::string failure_line(const TimelineScene& scene, std::size_t d, Tenths floor) {
  for (const trace::OutOfMemory& failure : scene.failures)
    if (failure.device.index() == d)
      return fmt::format("<path class=\"broke\" d=\"M{} {}v{}\"><title>{}</title></path>\n",
                         px(scene.time.at(failure.time)), px(floor), -scene.layout.memory,
                         trace::in_words(failure));
  return "";
}

std::string memory(const TimelineScene& scene, std::size_t d, const std::vector<MemoryLevel>& levels) {
  if (scene.layout.memory == 0) return "";
  const trace::DeviceTrace& device = scene.trace.devices[d];
  const trace::DeviceSummary& summary = scene.summary.devices[d];
  const core::Bytes fixed = std::accumulate(device.fixed.begin(), device.fixed.end(), core::Bytes());
  const core::Bytes full = full_scale(scene);
  const LineScale height{static_cast<double>(full.value()), scene.layout.memory * kPixel};
  const Tenths floor = scene.layout.lane() * kPixel;
  const int width = scene.layout.plot();
  return fmt::format("<path class=\"moving\" d=\"{}\"/>\n", outline(levels, height, floor, width)) +
         fmt::format("<rect class=\"fixed\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n",
                     px(floor - height.at(fixed)), width, px(height.at(fixed))) +
         capacity_line(device.capacity, full, height, floor, width) + failure_line(scene, d, floor) +
         fmt::format("<circle class=\"peak\" cx=\"{}\" cy=\"{}\" r=\"2.5\"/>\n",
                     px(scene.time.at(summary.peak_time)), px(floor - height.at(summary.peak)));
}

/// Returns "stage 3" or "stages 3, 11"; of too many stages only the first and the last.
std::string stage_names(const trace::DeviceTrace& device) {
  constexpr std::size_t kRoom = 3;
  if (device.stages.size() > kRoom)
    return fmt::format("stages {} … {}", device.stages.front().index(), device.stages.back().index());
  std::string out = device.stages.size() > 1 ? "stages" : "stage";
  for (const core::StageId stage : device.stages)
    out += fmt::format("{} {}", stage == device.stages.front() ? "" : ",", stage.index());
  return out;
}

/// Captions: name on the left; utilisation and memory on the right.
std::string captions(const TimelineScene& scene, const DrawnLanes& drawn) {
  const std::size_t d = drawn.devices.front();
  const trace::DeviceTrace& device = scene.trace.devices[d];
  const trace::DeviceSummary& summary = scene.summary.devices[d];
  const TimelineLayout& layout = scene.layout;
  const int upper = layout.top(drawn.place) + layout.boxes / 2 + 4;
  const int lower = layout.top(drawn.place) + layout.lane() - layout.memory / 2 + 4;
  const bool memory = layout.memory > 0;
  const int right = layout.width - TimelineLayout::kRight + 10;
  const bool over = summary.peak > device.capacity;
  std::string out = text_element(8, upper, "name", drawn.name);
  if (memory && drawn.devices.size() > 1)
    out += text_element(8, lower, "quiet", fmt::format("{} alike", drawn.devices.size()));
  else if (memory && !device.stages.empty())
    out += text_element(8, lower, "quiet", stage_names(device));
  if (scene.trace.iteration.value() > 0)
    out += text_element(right, upper, "quiet",
                        fmt::format("busy {:.0f} %", 100 * (summary.busy / scene.summary.iteration)));
  if (!memory) return out;
  return out + text_element(right, lower, over ? "over" : "",
                            fmt::format("{} of {}", show(summary.peak), show(device.capacity)));
}

}  // namespace

std::string lane_picture(const TimelineScene& scene, const DrawnLanes& drawn, const DeviceLane& lane) {
  return captions(scene, drawn) +
         fmt::format("<g transform=\"translate({} {})\">\n", TimelineLayout::kLeft,
                     scene.layout.top(drawn.place)) +
         boxes(scene.layout, lane) + numbers(scene.layout, lane.labels) +
         memory(scene, drawn.devices.front(), lane.memory) + "</g>\n";
}

}  // namespace penstock::report
