#pragma once
// Report of a plan's goodput under failures.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "penstock/experiment/faults.hpp"
#include "penstock/report/lines.hpp"

namespace penstock::experiment {

std::string fault_table(const FaultReport& report, const report::ScreenLimits& screen = {});
nlohmann::ordered_json fault_json(const FaultReport& report);

}  // namespace penstock::experiment
