#pragma once
// Reads the files that run() and validate() write.

#include <string>

#include "penstock/core/stop.hpp"
#include "penstock/report/page.hpp"

namespace penstock::experiment {

/// Joins results.json with timings.csv, if there is one, and provenance.json. The last is not needed if
/// results.json holds its provenance itself, as that of `penstock compare` does. For a folder with
/// validation.json instead, returns only the provenance. Rows have ratios to the baseline that
/// provenance.json names, if any. Throws BadInput.
report::ResultSet load_results(const std::string& folder);

/// Sets the rows' ratios to this planner. Throws BadInput, with a hint, if no row has it.
void set_baseline(report::ResultSet& results, const std::string& planner);

/// Reads the folder's provenance.json. Throws BadInput.
report::Provenance load_provenance(const std::string& folder);

/// True if the folder's rows are those of a schedule study.
bool holds_schedules(const std::string& folder);
/// Rows of a schedule study. Throws BadInput.
report::TextRows load_schedules(const std::string& folder);

/// Content of the folder's page without its title: rows of planners or of schedules, drawings (page_cells),
/// claims, validation, and advice if there is nothing to draw. Throws BadInput, and InterruptedError when stopped.
report::Page load_page(const std::string& folder, core::StopToken stop);

}  // namespace penstock::experiment
