#pragma once
// Files that `plan`, `improve` and `simulate` write on request, beside the table.

#include <CLI/CLI.hpp>
#include <string>

#include "aim_flags.hpp"
#include "command.hpp"
#include "page_output.hpp"
#include "penstock/experiment/aim.hpp"
#include "penstock/experiment/plan_report.hpp"

namespace penstock::cli {

/// -o FILE.
class PlanOutput {
 public:
  void add(CLI::App& command);
  void check(bool force) const;  ///< throws, unless forced, where what is no earlier plan would be lost
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
  /// Explains a plan whose simulation gave the row. Warns of settings without effect.
  experiment::ExplainedRun explained(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                                     const sim::SimulationOptions& options,
                                     const report::CellResult& row) const;

 private:
  CLI::Option* option_ = nullptr;
  std::size_t entries_ = 20;
};

/// Flags for how a search is judged and limited, and what it leaves; equal for `plan` and `improve`.
struct PlanSearch {
  AimFlags aim;
  SimulationFlags simulation;
  TimeLimitFlag time_limit;
  MemoryLimitFlag memory_limit;
  PlanOutput output;
  TimelineFlags timeline;
  ExplainFlags explain;
  PageOutput page;
  int threads = 0;
  bool json = false;
  WideFlag wide;

  void add(CLI::App& command);
  experiment::SearchSetting setting(planners::SearchOptions options) const;
  /// With a sign of life named `who`.
  experiment::AimedPlan run(const std::string& who, const cost::Problem& problem,
                            const experiment::Cell& cell, experiment::SearchSetting setting,
                            core::StopToken stop) const;
  void check(bool force) const;  ///< throws, unless forced, where a file would be lost
  /// Writes the requested files.
  void leave(const cost::Problem& problem, const experiment::AimedPlan& found,
             const experiment::Assumptions& assumptions, const CommandContext& session) const;
  /// Prints the plan, as a table or as JSON. The exit code: interrupted, where Ctrl-C ended the search.
  core::ExitCode show(const cost::Problem& problem, const experiment::AimedPlan& found,
                      const experiment::Assumptions& assumptions) const;
};

}  // namespace penstock::cli
