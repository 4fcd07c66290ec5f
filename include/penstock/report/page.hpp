#pragma once
// A results folder as one HTML page: everything is in the file, nothing is fetched.

#include <string>
#include <string_view>
#include <vector>

#include "penstock/report/results.hpp"
#include "penstock/report/validation.hpp"

namespace penstock::report {

/// Drawings and note of a row.
struct PageCell {
  std::string data;  ///< packed(CellData); empty: no drawings
  std::string note;  ///< reason why there are no drawings, or a remark on them; may be empty
};

/// A paper's claim and its verdict, as in claims.json.
struct PageClaim {
  std::string claim, source;
  std::string paper, ours;  ///< intervals in words
  std::string verdict, reason;
};

struct Page {
  std::string title;
  ResultSet results;
  std::vector<PageCell> cells;  ///< one per row
  std::vector<ValidationRow> validation;
  std::string summary{};  ///< summary of the experiment; may be empty
  std::vector<PageClaim> claims{};
  TextRows schedules{};                 ///< rows of a schedule study, which has no `results.rows`
  std::string winner{};                 ///< headline for rows ranked by something other than throughput
  std::vector<std::string> warnings{};  ///< rows that break a limit of plausibility, in words
  std::string advice{};  ///< Reason why the folder has no drawings, and how to get them; may be empty.
};

/// Style and scripts are the files of src/report/page, embedded when Penstock is built. Headline, summary and
/// origin are plain HTML; table, charts and drawings need JavaScript. The rows are packed by columns; a
/// script shows a hundred at a time, and makes drawings on demand. So the page stays small and opens quickly
/// with any number of rows.
std::string to_html(const Page& page);

/// True if the text was written by to_html.
bool is_page(std::string_view text);

}  // namespace penstock::report
