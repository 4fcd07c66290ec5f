#pragma once
// Answers that cannot be right: every command asks before it prints one.

#include <span>
#include <string>
#include <vector>

#include "penstock/cost/problem.hpp"
#include "penstock/experiment/cell.hpp"
#include "penstock/report/results.hpp"

namespace penstock::experiment {

/// Limits that a row breaks, in words, with the likely cause: MFU above 1, no time, a bubble outside 0 to 1,
/// an iteration below its lower bound. Empty where it breaks none.
std::vector<std::string> doubts(const report::CellResult& row);

/// And, of a plan, peaks of memory that together are less than the model's weights.
std::vector<std::string> doubts(const cost::Problem& problem, const CellOutcome& outcome);

/// Of all rows, each named by model, devices and planner; at most 20.
std::vector<std::string> doubts(std::span<const report::CellResult> rows);

/// "warning: ..." on a line each.
std::string in_lines(const std::vector<std::string>& doubts);

}  // namespace penstock::experiment
