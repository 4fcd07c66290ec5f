#pragma once
// Simulations of a plan on another machine, or with other batches.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/experiment/cell.hpp"
#include "penstock/experiment/plan_input.hpp"

namespace penstock::experiment {

enum class ChangedKey : std::uint8_t {
  devices,           ///< number of devices; data-parallel replicas scale with it
  network,           ///< bandwidth between nodes, per device
  node_links,        ///< bandwidth within nodes, per device
  memory,            ///< memory per device, including what is reserved
  memory_bandwidth,  ///< per device
  flops,             ///< peak per device in the model's precision
  speed,             ///< factor on the speed of kernels, with any costs
  micro_batch,       ///< samples per replica at a time
  mini_batch,        ///< samples per iteration
};

/// A change such as "network=200Gb/s" or "devices=2x".
struct WhatIfChange {
  ChangedKey key = ChangedKey::devices;
  std::string text;  ///< as given, trimmed
  double value = 0;  ///< factor, or B/s, B, FLOP/s, devices, samples
  bool factor = false;
};
/// Parses a list separated by commas. Throws BadInput for an unknown key, with the list of all keys, and for
/// a key given twice. Also throws for a value that is neither in the key's unit nor a factor.
std::vector<WhatIfChange> what_if_changes(std::string_view text);

/// Begins the note of a plan that is too large.
inline constexpr std::string_view kDoesNotFit = "does not fit in memory";

/// One line of the answer.
struct WhatIfRow {
  std::string change;                          ///< "today", one change, or "all"
  std::optional<report::CellResult> result{};  ///< none if the change is impossible for this plan
  core::Bytes capacity{};                      ///< memory of the device with the least
  std::string note{};                          ///< reason why there is no result, or a warning about it
  bool partial = false;  ///< times that the costs hold as measured do not follow the change
};

/// Simulates the plan unchanged, with each change separately, and with all of them if there are several.
/// Everything that a change does not name stays: stages, degrees, schedule, samples per replica. In-flight
/// counts are derived again if batches or replicas change. Precondition: `input` is complete.
std::vector<WhatIfRow> what_if(const PlanInput& input, const std::vector<WhatIfChange>& changes,
                               const sim::SimulationOptions& simulation);

}  // namespace penstock::experiment
