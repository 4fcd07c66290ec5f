#pragma once
// Every plan of an experiment replayed: how right the simulator is on this machine.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "penstock/experiment/replay.hpp"
#include "penstock/experiment/spec.hpp"

namespace penstock::experiment {

struct ValidateProgress {
  std::size_t done = 0, total = 0;  ///< plans
  core::Seconds left;               ///< expected for the rest, by the time of those done
  const report::ReplayRow& row;     ///< just measured
};

struct ValidateOptions {
  std::string folder;  ///< results go here
  ReplaySetting replay;
  report::Provenance provenance;
  std::vector<std::pair<std::string, std::string>> setting;  ///< device, costs and the like, for the JSON
  std::string conditions;  ///< all that times depend on beside the plan, as text; rows of others are not kept
  std::function<void(report::ReplayRow&)> stamp;  ///< sets load and date before a plan is run
  std::function<void(const ValidateProgress&)> progress;
  std::vector<std::string> only{};  ///< as in RunOptions: only these plans are replayed
  std::function<void(std::size_t done, std::size_t total)> planned{};  ///< from any thread
  std::function<void(const std::string& plan)> began{};                ///< to replay it
};

struct ValidateOutcome {
  report::ReplayTable table;
  bool interrupted = false;
  bool failed = false;  ///< a plan failed on the device; the others are there
};

/// Plans every cell as `run` does, then replays the plans one after the other. Writes into the folder:
/// plans/, and validation.csv, validation.json and table.txt anew after every plan, so that what is finished
/// stays; rows found there for the same plan under the same conditions are taken over. Plans that cannot be
/// made, or not be replayed, or fail on the device are left out with their reason.
ValidateOutcome validate(const Spec& spec, const cost::CostModel& costs, const ValidateOptions& options,
                         core::StopToken stop);

}  // namespace penstock::experiment
