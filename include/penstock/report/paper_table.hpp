#pragma once
// Results as a table to paste into a paper.

#include <span>
#include <string>

#include "penstock/report/results.hpp"

namespace penstock::report {

/// One line per row: problem, planner, throughput, shape of the plan, shares and memory; a row without a plan
/// shows its status. GitHub-flavoured Markdown.
std::string to_markdown(std::span<const CellResult> rows);

/// The same table as a `tabular` for LaTeX with the package booktabs.
std::string to_latex(std::span<const CellResult> rows);

}  // namespace penstock::report
