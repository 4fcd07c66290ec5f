#pragma once
// Planners on one problem: same costs, same simulator.

#include <functional>
#include <string>
#include <vector>

#include "penstock/experiment/cell.hpp"

namespace penstock::experiment {

/// Planners in the order given, from names with commas between and a planner's options behind colons; "all"
/// stands for the whole catalogue. Throws BadInput, which begins with `what`.
std::vector<planners::PlannerChoice> planner_choices(const std::string& text, const std::string& what);

/// Who is told how far a comparison is; neither needs to be there.
struct CompareProgress {
  std::function<void(const planners::PlannerChoice&)> begins;
  std::function<void(const report::CellResult&, std::size_t done, std::size_t all)> ends;
};

struct Comparison {
  std::vector<report::CellResult> rows;  ///< the fastest plan first (report::ranked)
  std::string heading;  ///< in words: the problem, and what no plan beats, by what plans divide
  bool interrupted = false;
};

/// One planner after the other, each on all threads; `cell` says all but the planner. One that finds no plan,
/// or cannot take the problem, has its reason as status. When stopped: the rows until then.
Comparison compare(const cost::Problem& problem, Cell cell,
                   const std::vector<planners::PlannerChoice>& planners, const SearchSetting& setting,
                   core::StopToken stop, const CompareProgress& progress = {});

/// The rows as bars (report::planner_chart_svg).
std::string comparison_svg(const Comparison& comparison);

/// Where no planner found a plan, what a search by that one of them says which came closest to one.
core::ExitCode exit_code(const Comparison& comparison);

}  // namespace penstock::experiment
