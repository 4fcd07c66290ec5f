#pragma once
// The plans of a results folder, told again for its page.

#include <string>
#include <vector>

#include "penstock/core/stop.hpp"
#include "penstock/report/page.hpp"

namespace penstock::experiment {

/// Simulates plans/NAME.yaml of the folder anew, as cells/NAME.json says costs, memory and simulation are
/// (without that file: analytic costs and the defaults), and finds its row (report::about). The fastest plan
/// of each problem comes first, then the second of each, until the drawings fill a page (10 MiB); later ones
/// are not simulated. One cell per row: without data, and with the reason as its note, where there is no
/// plan, the plan cannot be simulated any more, or the page is full; with data and a note where the
/// simulation now takes another time than the row says; without either where the folder has no plans at all.
/// Parallel. Throws Interrupted when stopped.
std::vector<report::PageCell> page_cells(const std::string& folder,
                                         const std::vector<report::CellResult>& rows, core::StopToken stop);

}  // namespace penstock::experiment
