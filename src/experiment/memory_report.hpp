#pragma once
// Memory of each device at the moment of its peak.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "penstock/cluster/cluster.hpp"
#include "penstock/report/table.hpp"
#include "penstock/trace/summary.hpp"

namespace penstock::experiment {

/// One line for all devices with the same memory, in the order of their first. Kinds that no device holds have
/// no column. `peak` is their sum; reserved memory comes on top.
std::string memory_table(const cluster::Cluster& cluster, const trace::Summary& summary,
                         const report::ScreenLimits& screen);

/// memory_bytes, at_s, moment and by_kind of one device.
nlohmann::ordered_json peak_json(const trace::DeviceSummary& device);

}  // namespace penstock::experiment
