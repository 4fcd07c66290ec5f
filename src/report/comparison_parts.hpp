#pragma once
// Tasks by kind, measured and simulated, as a table and as JSON. Private to the room.

#include <nlohmann/json.hpp>
#include <string>

#include "penstock/report/lines.hpp"
#include "penstock/trace/comparison.hpp"

namespace penstock::report {

std::string kinds_table(const trace::TraceComparison& comparison, const ScreenLimits& screen);
nlohmann::ordered_json kinds_json(const trace::TraceComparison& comparison);
nlohmann::ordered_json pair_json(const trace::QuantityPair& pair);
/// Signed percentage of an error; "-" if it is infinite.
std::string error_text(const trace::QuantityPair& pair);

}  // namespace penstock::report
