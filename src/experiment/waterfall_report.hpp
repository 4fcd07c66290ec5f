#pragma once
// Reports of the waterfall from peak to MFU, as table and JSON.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "penstock/report/lines.hpp"
#include "penstock/sim/waterfall.hpp"

namespace penstock::experiment {

/// Table of the parts that take time, each with its share, the MFU that it leaves, and the MFU without it.
std::string waterfall_table(const sim::Waterfall& waterfall, const report::ScreenLimits& screen);
/// JSON of all parts.
nlohmann::ordered_json waterfall_json(const sim::Waterfall& waterfall);

}  // namespace penstock::experiment
