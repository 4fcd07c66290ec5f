#pragma once
// Flags shared by `penstock replay` and `penstock validate`: how plans are executed, and on what.

#include "command.hpp"
#include "penstock/experiment/replay.hpp"

namespace penstock::cli {

void add_replay(CLI::App& app, Action& action);
void add_validate(CLI::App& app, Action& action);

struct ReplayFlags {
  std::string device = "host";
  int iterations = 5, warm_up = 1;
  bool concurrent = false, sequential = false, no_throttle = false;
  std::uint64_t seed = 1;
  bool experts_in_turn = false;
  float rate = 1e-4f;
  void add(CLI::App& command);
  experiment::ReplaySetting setting() const;
};

/// When, and how busy the machine is: one-minute average.
void stamp(report::ReplayRow& row, const CommandContext& session);

/// Device, costs and flags in words: what else a measured time depends on beside the plan.
std::vector<std::pair<std::string, std::string>> conditions(const ReplayFlags& flags,
                                                            const std::optional<std::string>& costs);

}  // namespace penstock::cli
