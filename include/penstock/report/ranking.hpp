#pragma once
// Table of planners on one problem, the fastest plan first.

#include <optional>
#include <string>
#include <vector>

#include "penstock/report/lines.hpp"
#include "penstock/report/results.hpp"

namespace penstock::report {

/// Rows by simulated throughput, descending. Ties, and rows without a plan, keep their order; the latter come
/// last.
std::vector<CellResult> ranked(std::vector<CellResult> rows);

/// Column of the objective that rows are ranked by, if it is not time.
struct AimColumn {
  std::string title;
  std::vector<std::string> cells;  ///< [row]
};

/// One line per row: planner, objective, throughput, strategy, utilisation, memory, estimated and simulated
/// iteration with the estimate's error, gap to the lower bound, search. Reasons of rows whose status is not
/// "ok" follow below the table.
std::string ranking(const std::vector<CellResult>& rows, const ScreenLimits& screen = {},
                    const std::optional<AimColumn>& aim = {});

}  // namespace penstock::report
