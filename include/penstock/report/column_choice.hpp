#pragma once
// Tables of chosen columns: which names there are, which a paper gets, and their values.

#include <span>
#include <string>
#include <vector>

#include "penstock/report/lines.hpp"
#include "penstock/report/results.hpp"

namespace penstock::report {

/// Columns by name: those of results.csv and timings.csv, `ratio`, and the axes that settings of the rows
/// name.
std::vector<std::string> column_names(std::span<const CellResult> rows);

/// The names in "model,mfu". Throws BadInput for a name that column_names lacks, with a hint and the list,
/// for one given twice, for none, and for `ratio` where no row has one.
std::vector<std::string> parse_columns(const std::string& text, std::span<const CellResult> rows);

/// At most nine, for a page of a paper: model, planner and what else tells rows apart; then, as far as there
/// is room, throughput, ratio, plan, MFU, memory, bubble, gap and tokens per second. A mini-batch that
/// follows from the other columns, as in weak scaling, tells nothing apart.
std::vector<std::string> paper_columns(std::span<const CellResult> rows);

/// "cluster summit, mini-batch 64": columns of the problem that are not among `names` and have one value in
/// all rows. Empty for a single row, and where there are none.
std::string same_in_all(std::span<const CellResult> rows, const std::vector<std::string>& names);

/// Values for programs: numbers in the fewest digits that read back equal, empty where a row has no value.
Rows chosen_rows(std::span<const CellResult> rows, const std::vector<std::string>& names);
/// {"provenance": {...}, "results": [...]} of them.
std::string chosen_json(std::span<const CellResult> rows, const std::vector<std::string>& names,
                        const Provenance& provenance);

/// A column as people read it.
struct ChosenColumn {
  std::string title;
  bool number = false;             ///< stands to the right
  std::vector<std::string> cells;  ///< [row]; "-" where a row has no value, its status instead of samples/s
};
std::vector<ChosenColumn> chosen_columns(std::span<const CellResult> rows,
                                         const std::vector<std::string>& names);
std::string chosen_table(std::span<const CellResult> rows, const std::vector<std::string>& names,
                         const Screen& screen = {});

}  // namespace penstock::report
