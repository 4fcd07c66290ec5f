#pragma once
// Pareto front: points that no other dominates.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/report/results.hpp"

namespace penstock::report {

/// Ascending indices of the points that no other dominates. All numbers of a point are minimised, and all
/// points have equally many. A point is dominated by one that is no larger in any number and smaller in one;
/// of equal points the first stays.
std::vector<std::size_t> pareto_front(std::span<const std::vector<double>> points);

/// A plan in the picture.
struct ParetoPoint {
  CellResult row;
  bool front = false;
  std::string label;  ///< for points on the front: their row in the table
};

/// SVG of iteration time over memory of the fullest device, both logarithmic. Each number of devices has a
/// colour; points on the front are filled and labelled, others hollow. All rows have a plan. `title` is the
/// heading.
std::string pareto_svg(std::span<const ParetoPoint> points, std::string_view title);

}  // namespace penstock::report
