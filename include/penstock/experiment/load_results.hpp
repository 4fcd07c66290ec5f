#pragma once
// What run() and validate() wrote, as one value.

#include <string>

#include "penstock/core/stop.hpp"
#include "penstock/report/page.hpp"

namespace penstock::experiment {

/// Joins results.json with timings.csv, if there is one, and provenance.json; the last is not asked for where
/// results.json holds its provenance itself, as that of `penstock compare` does. Of a folder that has a
/// validation.json instead, the provenance alone. Rows have ratios to the baseline that provenance.json
/// names, if it names one. Throws BadInput.
report::Results load_results(const std::string& folder);

/// Gives the rows ratios to this planner's instead. Throws BadInput, with a hint, where no row is of it.
void set_baseline(report::Results& results, const std::string& planner);

/// The folder's provenance.json. Throws BadInput.
report::Provenance load_provenance(const std::string& folder);

/// Whether the folder's rows are about schedules alone: what a schedule study wrote.
bool holds_schedules(const std::string& folder);
/// Rows of a schedule study. Throws BadInput.
report::Rows load_schedules(const std::string& folder);

/// All that the page of the folder shows, its title aside: rows of planners or of schedules, drawings
/// (page_cells), claims, validation, and what to do where there is nothing to draw. Throws BadInput, and
/// Interrupted when stopped.
report::Page load_page(const std::string& folder, core::StopToken stop);

}  // namespace penstock::experiment
