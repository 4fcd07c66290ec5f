#pragma once
// The same plan on another machine, or with other batches.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/experiment/cell.hpp"
#include "penstock/experiment/plan_input.hpp"

namespace penstock::experiment {

enum class ChangedKey : std::uint8_t {
  devices,           ///< number of devices; data-parallel replicas grow or shrink with it
  network,           ///< bandwidth between nodes, per device
  node_links,        ///< bandwidth within nodes, per device
  memory,            ///< of a device, with what is reserved of it
  memory_bandwidth,  ///< of a device
  flops,             ///< peak of a device in the model's precision
  speed,             ///< kernels so many times as fast, whatever the costs are
  micro_batch,       ///< samples that a replica takes at a time
  mini_batch,        ///< samples of an iteration
};

/// "network=200Gb/s" or "devices=2x".
struct WhatIfChange {
  ChangedKey key = ChangedKey::devices;
  std::string text;  ///< as given, without blanks around
  double value = 0;  ///< factor, or B/s, B, FLOP/s, devices, samples
  bool factor = false;
};
/// A list with commas between. Throws BadInput for an unknown key, with the list of all; for a value that is
/// none of the key's unit and no factor; for a key given twice.
std::vector<WhatIfChange> what_if_changes(std::string_view text);

/// One line of the answer.
struct WhatIfRow {
  std::string change;                          ///< "today", one change, or "all"
  std::optional<report::CellResult> result{};  ///< none where the plan cannot be changed so
  core::Bytes capacity{};                      ///< memory of the device that has least
  std::string note{};                          ///< why there is no result, or what is wrong with it
};

/// Simulates the plan as it is, with each change alone, and with all of them where there are several. What a
/// change does not name stays: stages, degrees, schedule, samples of a replica. In-flight counts are derived
/// anew where batches or replicas change. `input`: complete.
std::vector<WhatIfRow> what_if(const PlanInput& input, const std::vector<WhatIfChange>& changes,
                               const sim::SimulationOptions& simulation);

}  // namespace penstock::experiment
