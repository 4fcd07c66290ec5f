#pragma once
// One panel of a chart: lines over an axis, or bars if the axis has one place. Private to the room.

#include <string>
#include <utility>
#include <vector>

#include "svg.hpp"

namespace penstock::report {

inline constexpr int kPanelWidth = 340, kPanelHeight = 236;  ///< pixels

struct ValueAxis {
  std::string title;
  bool logarithmic = false;  ///< otherwise linear from zero
};

struct ChartLine {
  std::string name;
  std::size_t ink = 0;                            ///< index of colour and shape
  std::vector<std::pair<double, double>> points;  ///< ascending by the first
};

struct ChartPanel {
  std::string title, along;  ///< title above; title of the horizontal axis
  ValueAxis up;
  std::vector<ChartLine> lines;  ///< at least one; each has a point
};

/// Opens an SVG of this size on white, with the style of all panels.
std::string chart_head(int width, int height);
/// Draws the panel with its upper left corner at (x, y).
std::string panel_element(const ChartPanel& panel, int x, int y);
/// A point: colour and shape together distinguish 42 inks, as on the page (page/chart.js).
std::string marker_element(std::size_t ink, Tenths x, Tenths y);

}  // namespace penstock::report
