#pragma once
// Reports of what-if changes, compared with today.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "penstock/experiment/what_if.hpp"
#include "penstock/report/lines.hpp"

namespace penstock::experiment {

std::string what_if_table(const std::vector<WhatIfRow>& rows, const report::ScreenLimits& screen = {});
nlohmann::ordered_json what_if_json(const std::vector<WhatIfRow>& rows);

}  // namespace penstock::experiment
