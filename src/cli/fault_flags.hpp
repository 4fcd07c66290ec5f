#pragma once
// Flags of simulate about failures: --mtbf, --checkpoint, --restart, --interval, --spares, --repair, --policy,
// --failure-seed.

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "penstock/experiment/faults.hpp"

namespace penstock::cli {

class FaultFlags {
 public:
  void add(CLI::App& command);
  /// None without --mtbf. Throws a usage error for a value that is no time, and for an input without which no policy can be
  /// simulated.
  std::optional<experiment::FaultSetting> setting() const;

 private:
  std::string mtbf_, checkpoint_, restart_, interval_, repair_, policy_;
  std::optional<int> spares_;
  std::uint64_t seed_ = 0;
};

}  // namespace penstock::cli
