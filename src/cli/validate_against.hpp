#pragma once
// penstock validate --against: predictions held against runs that others measured.

#include <CLI/CLI.hpp>
#include <string>

#include "command.hpp"

namespace penstock::cli {

struct AgainstFlags {
  std::string runs;  ///< CSV; empty: not requested
  std::string clusters = "experiments/published";
  std::string framework;  ///< of runs whose row names none; empty: that of the costs
  void add(CLI::App& command);
};

/// Prints and, where `folder` is given, writes errors.csv, predictions.csv, table.txt and provenance.json
/// there.
core::ExitCode run_against(const AgainstFlags& flags, const CostFlags& costs, const std::string& folder,
                           const std::string& budget, const report::ScreenLimits& screen,
                           const CommandContext& session);

}  // namespace penstock::cli
