#pragma once
// One panel of a chart: lines over an axis, or bars where the axis has one place. Private to the room.

#include <string>
#include <utility>
#include <vector>

#include "svg.hpp"

namespace penstock::report {

inline constexpr int kPanelWidth = 340, kPanelHeight = 236;  ///< pixels

struct ValueAxis {
  std::string title;
  bool logarithmic = false;  ///< otherwise from zero
};

struct ChartLine {
  std::string name;
  std::size_t ink = 0;                            ///< which colour and shape
  std::vector<std::pair<double, double>> points;  ///< rising by the first
};

struct ChartPanel {
  std::string title, along;  ///< above it; of the axis along it
  ValueAxis up;
  std::vector<ChartLine> lines;  ///< at least one, each with a point
};

/// Opens an SVG of this size on white, with the style of all panels.
std::string chart_head(int width, int height);
/// The panel with its left upper corner there.
std::string panel_element(const ChartPanel& panel, int x, int y);
/// A point: colour and shape together tell 42 inks apart, as on the page (page/chart.js).
std::string marker_element(std::size_t ink, Tenths x, Tenths y);

}  // namespace penstock::report
