#pragma once
// A results folder as one HTML page: everything is in the file, nothing is fetched.

#include <string>
#include <string_view>
#include <vector>

#include "penstock/report/results.hpp"
#include "penstock/report/validation.hpp"

namespace penstock::report {

/// What the page knows of a row beyond its numbers.
struct PageCell {
  std::string data;  ///< packed(CellData); empty: no drawings
  std::string note;  ///< why there are none, or what to know of them; may be empty
};

/// A paper's claim and what became of it, as claims.json has them.
struct PageClaim {
  std::string claim, source;
  std::string paper, ours;  ///< intervals in words
  std::string verdict, reason;
};

struct Page {
  std::string title;
  Results results;
  std::vector<PageCell> cells;  ///< one per row
  std::vector<ValidationRow> validation;
  std::string summary{};  ///< what the experiment is about; may be empty
  std::vector<PageClaim> claims{};
  Rows schedules{};      ///< of a study of schedules alone, which has no `results.rows`
  std::string winner{};  ///< headline of rows that are ranked by something else than throughput
  std::string advice{};  ///< why the folder has no drawings at all, and how to get them; may be empty
};

/// Style and scripts are the files of src/report/page, put in when Penstock is built. Headline, summary and
/// origin are plain HTML; table, charts and drawings need JavaScript. The rows are packed by columns, of
/// which a script shows a hundred at a time, and drawings are made when they are asked for: the page stays
/// small and opens quickly, whatever the number of rows.
std::string to_html(const Page& page);

/// Whether the text is what to_html writes.
bool is_page(std::string_view text);

}  // namespace penstock::report
