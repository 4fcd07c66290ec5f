#pragma once
// What `plan`, `improve` and `simulate` are asked to leave beside the table.

#include <CLI/CLI.hpp>
#include <string>

#include "penstock/experiment/cell.hpp"

namespace penstock::cli {

/// -o FILE.
class PlanOutput {
 public:
  void add(CLI::App& command);
  void check() const;  ///< throws where something other than an earlier plan would be lost
  void write(const graph::OpGraph& graph, const plan::Plan& plan) const;  ///< where the flag is given

 private:
  std::string file_;
};

/// --svg FILE and --perfetto FILE.
struct TimelineFlags {
  std::string svg, perfetto;
  void add(CLI::App& command);
  bool given() const { return !svg.empty() || !perfetto.empty(); }
  /// With a trace, where `given`.
  void write(const experiment::CellOutcome& outcome, const cluster::Cluster& cluster) const;
};

/// --explain [N].
class ExplainFlags {
 public:
  void add(CLI::App& command);
  bool given() const { return option_ && option_->count() > 0; }
  std::size_t entries() const { return entries_; }

 private:
  CLI::Option* option_ = nullptr;
  std::size_t entries_ = 20;
};

}  // namespace penstock::cli
