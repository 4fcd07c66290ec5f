#pragma once
// A results folder as one HTML page: everything is in the file, nothing is fetched.

#include <string>
#include <vector>

#include "penstock/report/results.hpp"
#include "penstock/report/validation.hpp"

namespace penstock::report {

/// What the page knows of a row beyond its numbers.
struct PageCell {
  std::string data;  ///< packed(CellData); empty: no drawings
  std::string note;  ///< why there are none, or what to know of them; may be empty
};

struct Page {
  std::string title;
  Results results;
  std::vector<PageCell> cells;  ///< one per row
  std::vector<ValidationRow> validation;
};

/// Style and scripts are the files of src/report/page, put in when Penstock is built. The table of results is
/// plain HTML; drawings need JavaScript, and are made when their section is opened.
std::string to_html(const Page& page);

}  // namespace penstock::report
