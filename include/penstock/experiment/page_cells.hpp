#pragma once
// The plans of a results folder, told again for its page.

#include <string>
#include <vector>

#include "penstock/core/stop.hpp"
#include "penstock/cost/problem.hpp"
#include "penstock/plan/plan.hpp"
#include "penstock/report/page.hpp"
#include "penstock/sim/options.hpp"

namespace penstock::experiment {

/// Drawings of a page: beyond this it is slow to open, and rows that nobody looks at first have none.
inline constexpr std::size_t kMostBytesOfPage = std::size_t{10} << 20;
inline constexpr const char* kNoRoom =
    "No drawings: the page would become too large, and the fastest plans of each problem come first. "
    "`penstock simulate` draws any plan with --svg.";

/// The plan simulated anew, for a page. Without data, and with the reason as its note, where that cannot be;
/// with data and a note where it takes another time than the row says. Throws Interrupted.
report::PageCell page_cell(const cost::Problem& problem, plan::Plan plan,
                           const sim::SimulationOptions& simulation, const report::CellResult& row);

/// Simulates plans/NAME.yaml of the folder anew, as cells/NAME.json says costs, memory and simulation are
/// (without that file: the row's costs and the defaults), and finds its row (report::about). The fastest plan
/// of each problem comes first, then the second of each, until the drawings fill a page (10 MiB); later ones
/// are not simulated. One cell per row: without data, and with the reason as its note, where there is no
/// plan, the plan cannot be simulated any more, or the page is full; with data and a note where the
/// simulation now takes another time than the row says; without either where the folder has no plans at all.
/// Parallel. Throws Interrupted when stopped.
std::vector<report::PageCell> page_cells(const std::string& folder,
                                         const std::vector<report::CellResult>& rows, core::StopToken stop);

}  // namespace penstock::experiment
