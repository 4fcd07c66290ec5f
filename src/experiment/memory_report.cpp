#include "memory_report.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "device_ranges.hpp"
#include "penstock/core/quantity_text.hpp"

namespace penstock::experiment {
namespace {

using core::Bytes;
using plan::MemoryKind;
using report::Align;

struct MemoryRow {
  const trace::DeviceSummary* peak;
  Bytes reserved;
  std::vector<core::DeviceId> devices;

  bool holds(const trace::DeviceSummary& device, Bytes reserved_there) const {
    return peak->at_peak == device.at_peak && peak->moment == device.moment && reserved == reserved_there;
  }
};

std::vector<MemoryRow> rows_of(const cluster::Cluster& cluster, const trace::Summary& summary) {
  std::vector<MemoryRow> out;
  for (std::size_t d = 0; d < summary.devices.size(); ++d) {
    const trace::DeviceSummary& device = summary.devices[d];
    const Bytes reserved = cluster.type(core::DeviceId(d)).reserved;
    auto row = std::ranges::find_if(out, [&](const MemoryRow& r) { return r.holds(device, reserved); });
    if (row == out.end()) row = out.insert(out.end(), {&device, reserved, {}});
    row->devices.emplace_back(d);
  }
  return out;
}

struct KindColumn {
  MemoryKind kind;
  int leaves;  ///< Column::leaves
};

/// Kinds that some device holds at its peak, in the order of a report.
std::vector<KindColumn> held_kinds(const std::vector<MemoryRow>& rows) {
  std::vector<KindColumn> out;
  for (const KindColumn& column : {KindColumn{MemoryKind::weights, 7},
                                   {MemoryKind::versions, 3},
                                   {MemoryKind::gradients, 6},
                                   {MemoryKind::optimizer, 8},
                                   {MemoryKind::activations, 10},
                                   {MemoryKind::workspace, 4},
                                   {MemoryKind::buffers, 5},
                                   {MemoryKind::buckets, 2},
                                   {MemoryKind::step, 9}}) {
    const auto held = [&](const MemoryRow& row) { return at(row.peak->at_peak, column.kind) > Bytes(0); };
    if (std::ranges::any_of(rows, held)) out.push_back(column);
  }
  return out;
}

}  // namespace

std::string memory_table(const cluster::Cluster& cluster, const trace::Summary& summary,
                         const report::ScreenLimits& screen) {
  const std::vector<MemoryRow> rows = rows_of(cluster, summary);
  const std::vector<KindColumn> kinds = held_kinds(rows);
  const bool reserved = std::ranges::any_of(rows, [](const MemoryRow& r) { return r.reserved > Bytes(0); });
  std::vector<report::Column> columns = {{.title = "devices", .folds = true}};
  for (const KindColumn& held : kinds)
    columns.push_back({std::string(name(held.kind)), Align::right, held.leaves});
  columns.push_back({"peak", Align::right});
  if (reserved) columns.push_back({"reserved", Align::right, 1});
  columns.push_back({"moment"});
  report::Table table(std::move(columns));
  for (const MemoryRow& row : rows) {
    std::vector<std::string> cells = {device_ranges(row.devices)};
    for (const KindColumn& held : kinds) cells.push_back(core::show(at(row.peak->at_peak, held.kind)));
    cells.push_back(core::show(row.peak->peak));
    if (reserved) cells.push_back(core::show(row.reserved));
    cells.emplace_back(name(row.peak->moment));
    table.add(std::move(cells));
  }
  return "memory of each device at its peak\n" + table.text(screen);
}

nlohmann::ordered_json peak_json(const trace::DeviceSummary& device) {
  nlohmann::ordered_json out = {{"memory_bytes", device.peak.value()},
                                {"at_s", to_seconds(device.peak_time).value()},
                                {"moment", name(device.moment)}};
  for (std::size_t k = 0; k < plan::kMemoryKinds; ++k)
    out["by_kind"][std::string(name(static_cast<MemoryKind>(k)))] = device.at_peak[k].value();
  return out;
}

}  // namespace penstock::experiment
