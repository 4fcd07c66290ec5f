#pragma once
// Planners on one problem, the fastest plan first.

#include <string>
#include <vector>

#include "penstock/report/results.hpp"

namespace penstock::report {

/// By simulated throughput, falling; equal ones and those without a plan in the given order, the latter last.
std::vector<CellResult> ranked(std::vector<CellResult> rows);

/// One line per row: planner, schedule, stages, micro-batch, estimated and simulated iteration, optimism, gap
/// to the lower bound, memory, search; below the table the reasons of rows whose status is not "ok".
std::string ranking(const std::vector<CellResult>& rows);

}  // namespace penstock::report
