#pragma once
// Flags of penstock size: what is to be trained, on which GPUs, and what is assumed of machines.

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "penstock/experiment/sizing.hpp"

namespace penstock::cli {

/// Parses "2T", "15.6T", "500B", "250M" or a plain number: K, M, B and T are powers of 1,000. Nothing for another text, and
/// outside 1 to 10^18.
std::optional<double> parse_count(std::string_view text);

/// --tokens, --days and --budget.
class SizeGoalFlags {
 public:
  void add(CLI::App& command);
  experiment::SizingGoal goal() const;

 private:
  std::string tokens_, budget_;
  double days_ = 0;
};

/// --mtbf-per-gpu, --checkpoint, --storage, --restart, --margin, --node-overhead, --price.
class SizeMachineFlags {
 public:
  void add(CLI::App& command);
  /// Throws a usage error for a value that is not in its unit.
  experiment::SizingMachine machine() const;
  /// Keys of sizing_assumptions() that are given.
  std::vector<std::string> stated() const;

 private:
  std::string mtbf_, checkpoint_, storage_, restart_, margin_, overhead_, prices_;
};

}  // namespace penstock::cli
