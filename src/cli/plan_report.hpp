#pragma once
// What `plan` and `simulate` print about a plan.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "explain_report.hpp"
#include "penstock/experiment/cell.hpp"

namespace penstock::cli {

/// --svg FILE and --perfetto FILE.
struct TimelineFlags {
  std::string svg, perfetto;
  void add(CLI::App& command);
  bool given() const { return !svg.empty() || !perfetto.empty(); }
  /// With a trace, where `given`.
  void write(const experiment::CellOutcome& outcome, const cluster::Cluster& cluster) const;
};

/// What a simulation met beside the plan.
struct AppliedPerturbation {
  std::string file;
  std::string what;  ///< in words
  std::uint64_t seed = 0;
  core::Seconds perfect;  ///< iteration without it
};
using MaybePerturbed = std::optional<AppliedPerturbation>;

/// What `simulate` prints beside the plan.
struct Beside {
  MaybePerturbed perturbed;
  std::optional<ExplainedRun> explained;
};

/// One line per stage (operators, devices with tensor-parallel groups apart, micro-batch, in flight, time,
/// memory by kind), then totals; it was simulated with `simulation`.
std::string plan_table(const cost::Problem& problem, const experiment::CellOutcome& outcome,
                       const sim::SimulationOptions& simulation, const Beside& beside = {},
                       const report::Screen& screen = {});

/// The same as JSON, and each device's peak with its moment.
std::string plan_json(const cost::Problem& problem, const experiment::CellOutcome& outcome,
                      const sim::SimulationOptions& simulation, const Beside& beside = {});

}  // namespace penstock::cli
