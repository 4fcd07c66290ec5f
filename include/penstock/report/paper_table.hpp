#pragma once
// Results as a table to paste into a paper.

#include <span>
#include <string>
#include <vector>

#include "penstock/report/results.hpp"

namespace penstock::report {

/// One line per row with the named columns (column_names), by default paper_columns; a row without a plan
/// shows its status. A last line states what all rows have in common. GitHub-flavoured Markdown.
std::string to_markdown(std::span<const CellResult> rows, const std::vector<std::string>& names = {});

/// The same table as a `tabular` for LaTeX with the package booktabs; what rows have in common is a comment.
std::string to_latex(std::span<const CellResult> rows, const std::vector<std::string>& names = {});

}  // namespace penstock::report
