#pragma once
// The plans of a results folder, told again for its page.

#include <string>
#include <vector>

#include "penstock/experiment/spec.hpp"
#include "penstock/report/page.hpp"

namespace penstock::experiment {

/// Simulates every plans/*.yaml of the folder anew, as the spec says costs, memory and simulation are, and
/// finds its row by model, cluster, devices, planner and mini-batch. One cell per row: without data, and with
/// the reason as its note, where there is no plan, the plan cannot be simulated any more, or it is too large
/// to draw; with data and a note where the simulation now takes another time than the row says. Parallel.
/// Throws Interrupted when stopped.
std::vector<report::PageCell> page_cells(const std::string& folder,
                                         const std::vector<report::CellResult>& rows, const Spec& spec,
                                         core::StopToken stop);

}  // namespace penstock::experiment
