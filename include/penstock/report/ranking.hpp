#pragma once
// Planners on one problem, the fastest plan first.

#include <optional>
#include <string>
#include <vector>

#include "penstock/report/lines.hpp"
#include "penstock/report/results.hpp"

namespace penstock::report {

/// Rows by simulated throughput, falling; equal ones and those without a plan in the given order, the latter
/// last.
std::vector<CellResult> ranked(std::vector<CellResult> rows);

/// What rows are ranked by, where that is not time.
struct AimColumn {
  std::string title;
  std::vector<std::string> cells;  ///< [row]
};

/// One line per row: planner, throughput, strategy, utilisation, memory, estimated and simulated iteration
/// and the estimate's error, gap to the lower bound, search; behind the planner the aim's column; below the
/// table the reasons of rows whose status is not "ok".
std::string ranking(const std::vector<CellResult>& rows, const Screen& screen = {},
                    const std::optional<AimColumn>& aim = {});

}  // namespace penstock::report
