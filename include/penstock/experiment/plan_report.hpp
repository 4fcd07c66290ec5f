#pragma once
// Reports of a plan and its simulation, as text and JSON.

#include <cstdint>
#include <optional>
#include <string>

#include "penstock/experiment/aim.hpp"
#include "penstock/experiment/assumptions.hpp"
#include "penstock/experiment/faults.hpp"
#include "penstock/experiment/what_if.hpp"
#include "penstock/report/lines.hpp"
#include "penstock/sim/explain.hpp"
#include "penstock/sim/lengths.hpp"
#include "penstock/sim/traffic.hpp"
#include "penstock/sim/waterfall.hpp"

namespace penstock::experiment {

/// Perturbation of a simulation.
struct AppliedPerturbation {
  std::string file;
  std::string what;  ///< description in words
  std::uint64_t seed = 0;
  core::Seconds perfect;                      ///< iteration time without it
  std::optional<sim::SampleContent> filling;  ///< fill of the first mini-batch, if it has lengths
};
using MaybePerturbed = std::optional<AppliedPerturbation>;

/// Explanation of an iteration's time.
struct ExplainedRun {
  sim::TimeExplanation explanation;
  sim::Waterfall waterfall;
  std::size_t entries = 20;  ///< maximum lines of the path
};

/// Explains a plan whose simulation with these options gave the row.
ExplainedRun explained_run(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                           const sim::SimulationOptions& options, const report::CellResult& row,
                           std::size_t entries = 20);

/// Iteration time of the plan with messages in free order; nothing if the options have that order.
std::optional<core::Seconds> free_order_time(const cost::Problem& problem,
                                             const schedule::ScheduledPlan& scheduled,
                                             const sim::SimulationOptions& options);

/// Optional parts of a report beside the plan.
struct ReportExtras {
  MaybePerturbed perturbed{};
  std::optional<ExplainedRun> explained{};
  std::optional<AimResult> reached{};  ///< result of a search for an objective
  std::vector<WhatIfRow> what_if{};
  std::optional<std::vector<sim::RankTraffic>> traffic{};
  std::optional<FaultReport> faults{};
  std::optional<core::Seconds> free_order{};  ///< iteration time if messages need not keep an order
  Assumptions assumptions{};
  bool memory = false;  ///< a table of each device's memory at its peak
};

/// One line per stage (operators, devices with tensor-parallel groups separated, micro-batch, in flight,
/// time, memory by kind), then totals. `simulation`: options of the outcome's simulation.
std::string plan_table(const cost::Problem& problem, const CellOutcome& outcome,
                       const sim::SimulationOptions& simulation, const ReportExtras& beside = {},
                       const report::ScreenLimits& screen = {});

/// JSON with the same content, and each device's peak with its time.
std::string plan_json(const cost::Problem& problem, const CellOutcome& outcome,
                      const sim::SimulationOptions& simulation, const ReportExtras& beside = {});

/// The object explain.waterfall of plan_json.
std::string to_json(const sim::Waterfall& waterfall);

/// Returns a text such as "lengths: 512 sequences, 300000 tokens, padding 12.5 %".
std::string in_words(const sim::SampleContent& filling);

/// Timeline of an outcome that has a trace, with the problem as its heading.
std::string timeline_svg(const CellOutcome& outcome);

}  // namespace penstock::experiment
