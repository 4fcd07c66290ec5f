#pragma once
// Results as a table to paste into a paper.

#include <span>
#include <string>
#include <vector>

#include "penstock/report/results.hpp"

namespace penstock::report {

/// GitHub-flavoured Markdown with one line per row and the named columns (column_names), by default
/// paper_columns; a row without a plan shows its status. A last line states the values common to all rows.
std::string to_markdown(std::span<const CellResult> rows, const std::vector<std::string>& names = {});

/// LaTeX `tabular` with that content, for the package booktabs; values common to all rows are a comment.
std::string to_latex(std::span<const CellResult> rows, const std::vector<std::string>& names = {});

}  // namespace penstock::report
