#pragma once
// A picture of planners on one problem.

#include <span>
#include <string>
#include <string_view>

#include "penstock/report/results.hpp"

namespace penstock::report {

struct PlannerBar {
  CellResult row;
  std::string unseen;       ///< in a few words, what the planner does not see
  double aim = 0;           ///< instead of the iteration's time, where plans are ranked by something else
  std::string aim_words{};  ///< that value in words; empty: they are ranked by time
};

/// Iteration times as bars, in the given order, as SVG: each with the bound that no plan of its kind beats as
/// a mark, the gap to it in words, the plan's strategy, and what the planner does not see. A row without a
/// plan has its reason. Bars of an aim have no bound, which is one of time. `title` stands above, and below
/// it what the bars are, where it is not time.
std::string planner_chart_svg(std::span<const PlannerBar> bars, std::string_view title,
                              std::string_view aim = {});

}  // namespace penstock::report
