#pragma once
// Final table of an experiment: each planner relative to a baseline, by problem.

#include <span>
#include <string>
#include <vector>

#include "penstock/report/lines.hpp"
#include "penstock/report/results.hpp"

namespace penstock::report {

/// Sets each row's ratio: its throughput over that of the planner `baseline` (as planners::written) on the
/// same problem. Rows of the baseline have none, nor rows of a problem for which it has no plan.
void add_ratios(std::vector<CellResult>& rows, const std::string& baseline);

/// All rows as one table, grouped by problem (model, cluster, devices, mini-batch, and setting if rows have
/// one). With a baseline, rows of other planners show their throughput ratio to it, and a last line states
/// the largest ratio. Search times, which differ between runs, only if `measured`.
std::string comparison(std::span<const CellResult> rows, const std::string& baseline, bool measured,
                       const ScreenLimits& screen = {});

}  // namespace penstock::report
