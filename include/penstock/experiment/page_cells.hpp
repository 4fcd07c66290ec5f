#pragma once
// Simulates the plans of a results folder again for its page.

#include <string>
#include <vector>

#include "penstock/core/stop.hpp"
#include "penstock/cost/problem.hpp"
#include "penstock/plan/plan.hpp"
#include "penstock/report/page.hpp"
#include "penstock/sim/options.hpp"

namespace penstock::experiment {

/// Limit on the bytes of a page's drawings: larger pages are slow to open. Rows at the end then have none.
inline constexpr std::size_t kMostBytesOfPage = std::size_t{10} << 20;
inline constexpr const char* kNoRoom =
    "No drawings: the page would become too large, and the fastest plans of each problem come first. "
    "`penstock simulate` draws any plan with --svg.";

/// Simulates the plan for a page. Has no data, and the reason as its note, if that is impossible; has data
/// and a note if the time differs from the row. Throws InterruptedError.
report::PageCell page_cell(const cost::Problem& problem, plan::Plan plan,
                           const sim::SimulationOptions& simulation, const report::CellResult& row);

/// Simulates plans/NAME.yaml of the folder with the costs, memory and simulation of cells/NAME.json (without
/// that file: the row's costs and the defaults), and finds its row (report::about). The fastest plan of each
/// problem comes first, then the second of each, until the drawings fill a page (10 MiB); later ones are not
/// simulated.
///
/// Returns one cell per row. It has no data, and the reason as its note, if there is no plan, the plan cannot
/// be simulated, or the page is full. It has data and a note if the time differs from the row. It has neither
/// if the folder has no plans. Parallel. Throws InterruptedError when stopped.
std::vector<report::PageCell> page_cells(const std::string& folder,
                                         const std::vector<report::CellResult>& rows, core::StopToken stop);

}  // namespace penstock::experiment
