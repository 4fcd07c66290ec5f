#pragma once
// Reports of the next best plans.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "penstock/experiment/cell.hpp"
#include "penstock/report/lines.hpp"

namespace penstock::experiment {

/// Table of the best plan and CellOutcome::others, each with its differences.
std::string top_table(const CellOutcome& outcome, const report::ScreenLimits& screen);
/// JSON of the other plans.
nlohmann::ordered_json top_json(const CellOutcome& outcome);

}  // namespace penstock::experiment
