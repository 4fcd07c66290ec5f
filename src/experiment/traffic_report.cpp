#include "traffic_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "device_ranges.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/report/table.hpp"

namespace penstock::experiment {

using report::Align;

std::string traffic_table(const std::vector<sim::RankTraffic>& ranks, const report::ScreenLimits& screen) {
  report::Table table({{"rank", Align::right},
                       {.title = "devices", .folds = true},
                       {"collective"},
                       {"among"},
                       {"count", Align::right},
                       {"bytes", Align::right},
                       {"sent", Align::right}});
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    std::string rank = fmt::format("{}", r), devices = device_ranges(ranks[r].devices);
    if (ranks[r].rows.empty()) table.add({rank, devices, "none", "", "", "", ""});
    for (const sim::TrafficRow& row : ranks[r].rows) {
      table.add({std::exchange(rank, ""), std::exchange(devices, ""), std::string(name(row.kind)),
                 row.among == sim::TrafficAmong::pipeline ? std::string(name(row.among))
                                                          : fmt::format("{} {}", row.ranks, name(row.among)),
                 fmt::format("{}", row.count), core::show(row.bytes), core::show(row.sent)});
    }
  }
  return "traffic of the first device of each rank in one iteration\n" + table.text(screen);
}

nlohmann::ordered_json traffic_json(const std::vector<sim::RankTraffic>& ranks) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const sim::RankTraffic& rank : ranks) {
    nlohmann::ordered_json one = {{"devices", nlohmann::ordered_json::array()},
                                  {"rows", nlohmann::ordered_json::array()}};
    for (const core::DeviceId device : rank.devices) one["devices"].push_back(device.index());
    for (const sim::TrafficRow& row : rank.rows)
      one["rows"].push_back({{"collective", name(row.kind)},
                             {"among", name(row.among)},
                             {"ranks", row.ranks},
                             {"count", row.count},
                             {"bytes", row.bytes.value()},
                             {"sent_bytes", row.sent.value()}});
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace penstock::experiment
