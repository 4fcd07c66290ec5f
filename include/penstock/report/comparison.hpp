#pragma once
// The table an experiment ends with: each planner against a baseline, problem by problem.

#include <span>
#include <string>
#include <vector>

#include "penstock/report/lines.hpp"
#include "penstock/report/results.hpp"

namespace penstock::report {

/// Gives each row its ratio: its throughput over that of the planner `baseline` (as planners::written) on the
/// same problem. Rows of the baseline, and those of a problem that it has no plan for, have none.
void add_ratios(std::vector<CellResult>& rows, const std::string& baseline);

/// All rows as one table, grouped by problem (model, cluster, devices, mini-batch, and setting where rows
/// have one). With a baseline, rows of other planners show their throughput ratio to it; a last line states
/// the largest ratio and where. Search times, which no two runs share, only when `measured`.
std::string comparison(std::span<const CellResult> rows, const std::string& baseline, bool measured,
                       const Screen& screen = {});

}  // namespace penstock::report
