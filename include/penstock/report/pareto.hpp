#pragma once
// What can be traded for what: the points that no other beats.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/report/results.hpp"

namespace penstock::report {

/// Positions, rising, of the points that no other beats. All numbers of a point are to be small, and all
/// points have equally many. One point beats another that is no smaller in any number and larger in one; of
/// equal points the first stays.
std::vector<std::size_t> pareto_front(std::span<const std::vector<double>> points);

/// A plan in the picture.
struct ParetoPoint {
  CellResult row;
  bool front = false;
  std::string label;  ///< of those on the front: their row in the table
};

/// Iteration time over memory of the fullest device, both logarithmic, as SVG: a colour for each number of
/// devices: those on the front filled and labelled, the others hollow. All rows have a plan. `title` stands
/// above.
std::string pareto_svg(std::span<const ParetoPoint> points, std::string_view title);

}  // namespace penstock::report
