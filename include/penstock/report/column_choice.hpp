#pragma once
// Tables of chosen columns: available names, the choice for a paper, and values.

#include <span>
#include <string>
#include <vector>

#include "penstock/report/lines.hpp"
#include "penstock/report/results.hpp"

namespace penstock::report {

/// Names of all columns: those of results.csv and timings.csv, `ratio`, and the axes in settings of the rows.
std::vector<std::string> column_names(std::span<const CellResult> rows);

/// Parses names such as "model,mfu". Throws BadInput for a name that column_names lacks, with a hint and the
/// list. Also throws for a repeated name, for no name, and for `ratio` if no row has one.
std::vector<std::string> parse_columns(const std::string& text, std::span<const CellResult> rows);

/// At most nine columns, for a page of a paper: model, planner and the other columns that distinguish rows.
/// Then, as far as there is room, throughput, ratio, plan, MFU, memory, bubble, gap and tokens per second. A
/// mini-batch that follows from the other columns, as in weak scaling, distinguishes no rows.
std::vector<std::string> paper_columns(std::span<const CellResult> rows);

/// Returns a text such as "cluster summit, mini-batch 64": columns of the problem that are not among `names`
/// and have one value in all rows. Empty for a single row, and if there are none.
std::string same_in_all(std::span<const CellResult> rows, const std::vector<std::string>& names);

/// Values for programs: numbers in the fewest digits that read back equal, empty if a row has no value.
TextRows chosen_rows(std::span<const CellResult> rows, const std::vector<std::string>& names);
/// JSON {"provenance": {...}, "results": [...]} of these columns.
std::string chosen_json(std::span<const CellResult> rows, const std::vector<std::string>& names,
                        const Provenance& provenance);

/// A column for people.
struct ChosenColumn {
  std::string title;
  bool number = false;             ///< aligned right
  std::vector<std::string> cells;  ///< [row] "-" if a row has no value, or its status instead of samples/s
};
std::vector<ChosenColumn> chosen_columns(std::span<const CellResult> rows,
                                         const std::vector<std::string>& names);
std::string chosen_table(std::span<const CellResult> rows, const std::vector<std::string>& names,
                         const ScreenLimits& screen = {});

}  // namespace penstock::report
