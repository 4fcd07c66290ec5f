#pragma once
// Parts of the timeline picture, each a piece of SVG text. Private to the room.

#include <algorithm>
#include <string>
#include <string_view>

#include "lane.hpp"
#include "penstock/report/timeline_svg.hpp"
#include "penstock/trace/out_of_memory.hpp"
#include "penstock/trace/summary.hpp"
#include "svg.hpp"

namespace penstock::report {

/// Sizes in pixels. A lane is a row of boxes, two thin rows of transfers, then memory.
struct TimelineLayout {
  int width, boxes, memory, gap;
  static constexpr int kLeft = 88, kRight = 142, kTop = 132, kMarks = 8, kBottom = 28;
  int plot() const { return width - kLeft - kRight; }
  int lane() const { return boxes + kMarks + memory; }
  int top(std::size_t lane_number) const { return kTop + static_cast<int>(lane_number) * (lane() + gap); }
};

/// Input of every part.
struct TimelineScene {
  const trace::Trace& trace;
  const TimelineStyle& style;
  trace::Summary summary;
  TimelineLayout layout;
  LineScale time;
  std::vector<trace::OutOfMemory> failures = {};
  std::size_t lanes = 0;  ///< number of drawn lanes
  bool shows(trace::TaskKind kind) const {
    return std::any_of(trace.spans.begin(), trace.spans.end(), [&](const auto& s) { return s.kind == kind; });
  }
};

std::string heading(const TimelineScene& scene);
std::string legend(const TimelineScene& scene);     ///< for content of the picture
std::string time_axis(const TimelineScene& scene);  ///< ticks above and below, grid lines behind the lanes
/// Devices with equal lanes, drawn once.
struct DrawnLanes {
  std::size_t place = 0;
  std::vector<std::size_t> devices;
  std::string name{};  ///< name of these devices
};
std::string lane_picture(const TimelineScene& scene, const DrawnLanes& drawn, const DeviceLane& lane);

}  // namespace penstock::report
