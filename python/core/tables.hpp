#pragma once
// Rows as the tables that `penstock report` writes.

#include <optional>
#include <string>
#include <vector>

#include "penstock/report/results.hpp"

namespace penstock::python {

/// Choices of a caller for a table.
struct TableChoice {
  std::string format = "text";
  std::vector<std::string> columns{};     ///< empty: those that `penstock report` writes
  std::optional<std::string> baseline{};  ///< planner that ratios divide by; none: as in the results
  bool plain() const { return columns.empty() && !baseline; }
};

/// The rows as text, markdown, csv, json or latex. Throws BadInput for another format, for columns that there
/// are not, and for a baseline of no row.
std::string table_text(report::ResultSet results, const TableChoice& choice);

/// Gives the rows the choice's ratios. Throws BadInput.
void choose_baseline(report::ResultSet& results, const TableChoice& choice);

}  // namespace penstock::python
