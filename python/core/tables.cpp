#include "tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "penstock/core/error.hpp"
#include "penstock/experiment/load_results.hpp"
#include "penstock/report/column_choice.hpp"
#include "penstock/report/comparison.hpp"
#include "penstock/report/paper_table.hpp"

namespace penstock::python {
namespace {

/// All columns of results.csv and timings.csv, and ratios where there is a baseline.
report::ColumnGroups everything(const report::ResultSet& results) {
  return {.axes = true, .origin = true, .ratio = !results.baseline.empty()};
}

/// Columns as the command line reads them, with a name that Python has.
std::vector<std::string> checked_columns(const std::vector<std::string>& names,
                                         const report::ResultSet& results) {
  try {
    return names.empty() ? names
                         : report::parse_columns(fmt::format("{}", fmt::join(names, ",")), results.rows);
  } catch (const core::BadInput& e) {
    throw core::BadInput({"", 0, "columns"}, e.what());
  }
}

}  // namespace

void choose_baseline(report::ResultSet& results, const TableChoice& choice) {
  if (!choice.baseline) return;
  try {
    experiment::set_baseline(results, *choice.baseline);
  } catch (const core::BadInput& e) {
    throw core::BadInput({"", 0, "baseline"}, e.what());
  }
}

std::string table_text(report::ResultSet results, const TableChoice& choice) {
  choose_baseline(results, choice);
  const auto& rows = results.rows;
  const auto names = checked_columns(choice.columns, results);
  if (choice.format == "markdown") return report::to_markdown(rows, names);
  if (choice.format == "latex") return report::to_latex(rows, names);
  if (choice.format == "csv")
    return names.empty() ? report::to_csv(rows, everything(results))
                         : report::to_csv(report::chosen_rows(rows, names));
  if (choice.format == "json")
    return names.empty() ? report::to_json(rows, results.provenance, everything(results))
                         : report::chosen_json(rows, names, results.provenance);
  if (choice.format == "text")
    return names.empty() ? report::comparison(rows, results.baseline, true)
                         : report::chosen_table(rows, names);
  throw core::BadInput({"", 0, "format"}, "expected html, text, markdown, csv, json or latex");
}

}  // namespace penstock::python
