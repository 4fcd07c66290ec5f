#pragma once
// Replays every plan of an experiment, to measure the simulator's error on this machine.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "penstock/experiment/replay.hpp"
#include "penstock/experiment/spec.hpp"

namespace penstock::experiment {

struct ValidateProgress {
  std::size_t done = 0, total = 0;  ///< plans
  core::Seconds left;               ///< expected time of the rest, from the plans done
  const report::ReplayRow& row;     ///< the row just measured
};

struct ValidateOptions {
  std::string folder;  ///< results folder
  ReplaySetting replay;
  report::Provenance provenance;
  std::vector<std::pair<std::string, std::string>> setting;  ///< device, costs and so on, for the JSON
  /// Everything that times depend on besides the plan, as text; rows with other conditions are not kept.
  std::string conditions;
  std::function<void(report::ReplayRow&)> stamp;  ///< sets load and date before a plan runs
  std::function<void(const ValidateProgress&)> progress;
  std::vector<std::string> only{};  ///< as in RunOptions: only these plans are replayed
  std::function<void(std::size_t done, std::size_t total)> planned{};  ///< called from any thread
  std::function<void(const std::string& plan)> began{};                ///< called when a plan's replay begins
};

struct ValidateOutcome {
  report::ReplayTable table;
  bool interrupted = false;
  bool failed = false;  ///< a plan failed on the device; the others are complete
};

/// Plans every cell as `run` does, then replays the plans one after the other. Writes plans/ into the folder,
/// and validation.csv, validation.json and table.txt again after every plan, so that finished results stay.
/// Existing rows for the same plan under the same conditions are kept. Plans that cannot be made or replayed,
/// or fail on the device, are left out with their reason.
ValidateOutcome validate(const Spec& spec, const cost::CostModel& costs, const ValidateOptions& options,
                         core::StopToken stop);

}  // namespace penstock::experiment
