#pragma once
// Chart of measured points, and lines through them, on two logarithmic axes.

#include <string>
#include <utility>
#include <vector>

namespace penstock::report {

struct ChartSeries {
  std::string name;
  std::vector<std::pair<double, double>> points;  ///< measured; x and y above zero
  std::vector<std::pair<double, double>> line{};  ///< fitted, ascending in x; may be empty
};

struct LogChart {
  std::string title, x, y;  ///< axes with their units
  std::vector<ChartSeries> series;
};

/// Returns one SVG picture. Throws an internal error if no series has points.
std::string log_chart_svg(const LogChart& chart);

}  // namespace penstock::report
