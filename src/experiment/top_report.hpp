#pragma once
// The next best plans beside the best.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "penstock/experiment/cell.hpp"
#include "penstock/report/lines.hpp"

namespace penstock::experiment {

/// The best plan and CellOutcome::others, each with what it has otherwise.
std::string top_table(const CellOutcome& outcome, const report::Screen& screen);
/// The others.
nlohmann::ordered_json top_json(const CellOutcome& outcome);

}  // namespace penstock::experiment
