#pragma once
// The way from peak to MFU as a table and as JSON.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "penstock/report/lines.hpp"
#include "penstock/sim/waterfall.hpp"

namespace penstock::experiment {

/// Parts that take time, each with its share, the MFU that it leaves, and the MFU if it were free.
std::string waterfall_table(const sim::Waterfall& waterfall, const report::Screen& screen);
/// All parts.
nlohmann::ordered_json waterfall_json(const sim::Waterfall& waterfall);

}  // namespace penstock::experiment
