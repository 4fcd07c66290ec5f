#pragma once
// Checks for answers that cannot be right; every command runs them before it prints.

#include <span>
#include <string>
#include <vector>

#include "penstock/cost/problem.hpp"
#include "penstock/experiment/cell.hpp"
#include "penstock/report/results.hpp"

namespace penstock::experiment {

/// Limits that a row breaks, in words, with the likely cause: MFU above 1, zero time, a bubble outside 0 to
/// 1, an iteration below its lower bound. Empty if there are none.
std::vector<std::string> doubts(const report::CellResult& row);

/// Like the other overload; for a plan also checks that memory peaks together are not below the model's
/// weights. Includes doubts of the next best plans, each after its strategy.
std::vector<std::string> doubts(const cost::Problem& problem, const CellOutcome& outcome);

/// Doubts of all rows, each named by model, devices and planner; at most 20.
std::vector<std::string> doubts(std::span<const report::CellResult> rows);

/// Formats each as "warning: ..." on a line.
std::string in_lines(const std::vector<std::string>& doubts);

}  // namespace penstock::experiment
