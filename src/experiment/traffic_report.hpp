#pragma once
// Report of what every rank of a plan sends (sim::traffic).

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "penstock/report/lines.hpp"
#include "penstock/sim/traffic.hpp"

namespace penstock::experiment {

std::string traffic_table(const std::vector<sim::RankTraffic>& ranks,
                          const report::ScreenLimits& screen = {});
nlohmann::ordered_json traffic_json(const std::vector<sim::RankTraffic>& ranks);

}  // namespace penstock::experiment
