#pragma once
// The parts of the timeline picture, each a piece of SVG text. Private to the room.

#include <string>
#include <string_view>

#include "lane.hpp"
#include "penstock/trace/summary.hpp"
#include "svg.hpp"

namespace penstock::report {

/// Sizes in pixels. A lane is a row of boxes, two thin rows of transfers, then memory.
struct Layout {
  int width, boxes, memory, gap;
  static constexpr int kLeft = 88, kRight = 142, kTop = 132, kMarks = 8, kBottom = 28;
  int plot() const { return width - kLeft - kRight; }
  int lane() const { return boxes + kMarks + memory; }
  int top(std::size_t lane_number) const { return kTop + static_cast<int>(lane_number) * (lane() + gap); }
};

/// What every part looks at.
struct Scene {
  const trace::Trace& trace;
  trace::Summary summary;
  Layout layout;
  Scale time;
};

std::string heading(const Scene& scene, std::string_view title);
std::string legend();
std::string time_axis(const Scene& scene);  ///< ticks above and below, grid lines behind the lanes
std::string lane_picture(const Scene& scene, std::size_t device, const Lane& lane);

}  // namespace penstock::report
