#pragma once
// Work and output of `simulate` with a perturbation.

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>

#include "penstock/cost/problem.hpp"
#include "penstock/experiment/plan_report.hpp"
#include "penstock/schedule/scheduled_plan.hpp"
#include "penstock/sim/options.hpp"
#include "penstock/sim/perturbation.hpp"
#include "penstock/trace/trace.hpp"

namespace penstock::cli {

/// --perturbation FILE, --seed N and --runs R.
struct PerturbationFlags {
  std::string file;
  std::uint64_t seed = 0;
  std::size_t runs = 1;
  void add(CLI::App& command);
  /// For this cluster; none when no file is named.
  std::optional<sim::Perturbation> load(const cluster::Cluster& cluster) const;
};

/// Warns on standard error of whatever in the file the iteration never met.
void warn_of_unmet(const sim::Perturbation& perturbation, const cluster::Cluster& cluster,
                   const trace::Trace& trace);

/// Perturbation applied to one run of a problem, beside the iteration without it.
experiment::AppliedPerturbation applied(const PerturbationFlags& flags, const sim::Perturbation& perturbation,
                                        const cost::Problem& problem, core::Seconds perfect);

/// Simulates all runs and reports how iteration time and throughput are spread: a table, or JSON.
std::string runs_report(const PerturbationFlags& flags, const cost::Problem& problem,
                        const schedule::ScheduledPlan& scheduled, const sim::SimulationOptions& options,
                        bool json, core::StopToken stop);

}  // namespace penstock::cli
