#pragma once
// Reports of an explained run, as text and JSON.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "penstock/experiment/plan_report.hpp"

namespace penstock::experiment {

/// Shares of the resources, then the critical path in a limited number of lines.
std::string explain_table(const ExplainedRun& run, const report::ScreenLimits& screen);
nlohmann::ordered_json explain_json(const ExplainedRun& run);

}  // namespace penstock::experiment
