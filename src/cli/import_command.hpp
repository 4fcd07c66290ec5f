#pragma once
// Code shared by the formats of `penstock import`; one file per format.

#include "command.hpp"
#include "penstock/cost/profile.hpp"

namespace penstock::cli {

/// Result of importing a foreign file: a model, and what its operators cost.
struct ImportedModel {
  graph::OpGraph model;
  cost::ProfileCosts costs;
};

/// -o MODEL and --costs COSTS.
struct ImportOutputs {
  std::string model, costs;
  void add(CLI::App& command);
  /// Both files or none, and one line on what they hold.
  void write(const ImportedModel& imported) const;
};

/// Each format registers a sub-command of `penstock import`.
void add_import_pipedream(CLI::App& import, Action& action);
void add_import_piper(CLI::App& import, Action& action);
void add_import_kernels(CLI::App& import, Action& action);
void add_import_megatron(CLI::App& import, Action& action);
void add_import_topo(CLI::App& import, Action& action);
void add_import_trace(CLI::App& import, Action& action);
void add_import_hf(CLI::App& import, Action& action);

}  // namespace penstock::cli
