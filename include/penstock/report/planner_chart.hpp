#pragma once
// Bar chart of planners on one problem.

#include <span>
#include <string>
#include <string_view>

#include "penstock/report/results.hpp"

namespace penstock::report {

struct PlannerBar {
  CellResult row;
  std::string unseen;       ///< limits of the planner, in a few words
  double aim = 0;           ///< value of the objective, if it is not time
  std::string aim_words{};  ///< that value in words; empty: ranked by time
};

/// SVG of iteration times as bars, in the given order. Each has its lower bound as a mark, the gap to it in
/// words, the plan's strategy, and the planner's limits. A row without a plan shows the reason. Bars of
/// another objective have no bound, which is a time. `title` is the heading; `aim` below it states what the
/// bars are, if it is not time.
std::string planner_chart_svg(std::span<const PlannerBar> bars, std::string_view title,
                              std::string_view aim = {});

}  // namespace penstock::report
