#pragma once
// A plan and its simulation, for people and for scripts.

#include <cstdint>
#include <optional>
#include <string>

#include "penstock/experiment/aim.hpp"
#include "penstock/experiment/assumptions.hpp"
#include "penstock/experiment/what_if.hpp"
#include "penstock/report/lines.hpp"
#include "penstock/sim/explain.hpp"
#include "penstock/sim/lengths.hpp"
#include "penstock/sim/waterfall.hpp"

namespace penstock::experiment {

/// What a simulation met beside the plan.
struct AppliedPerturbation {
  std::string file;
  std::string what;  ///< in words
  std::uint64_t seed = 0;
  core::Seconds perfect;                ///< iteration without it
  std::optional<sim::Filling> filling;  ///< of the first mini-batch, where it has lengths
};
using MaybePerturbed = std::optional<AppliedPerturbation>;

/// Where the time of an iteration goes.
struct ExplainedRun {
  sim::Explanation explanation;
  sim::Waterfall waterfall;
  std::size_t entries = 20;  ///< most lines of the path
};

/// Of a plan whose simulation with these options gave the row.
ExplainedRun explained_run(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                           const sim::SimulationOptions& options, const report::CellResult& row,
                           std::size_t entries = 20);

/// What stands beside the plan where it was asked for.
struct Beside {
  MaybePerturbed perturbed{};
  std::optional<ExplainedRun> explained{};
  std::optional<Reached> reached{};  ///< by a search
  std::vector<WhatIfRow> what_if{};
  Assumptions assumptions{};
};

/// One line per stage (operators, devices with tensor-parallel groups apart, micro-batch, in flight, time,
/// memory by kind), then totals; it was simulated with `simulation`.
std::string plan_table(const cost::Problem& problem, const CellOutcome& outcome,
                       const sim::SimulationOptions& simulation, const Beside& beside = {},
                       const report::Screen& screen = {});

/// The same as JSON, and each device's peak with its moment.
std::string plan_json(const cost::Problem& problem, const CellOutcome& outcome,
                      const sim::SimulationOptions& simulation, const Beside& beside = {});

/// What plan_json has under explain.waterfall.
std::string to_json(const sim::Waterfall& waterfall);

/// "lengths: 512 sequences, 300000 tokens, padding 12.5 %".
std::string in_words(const sim::Filling& filling);

/// The timeline of an outcome that has a trace, with the problem as its heading.
std::string timeline_svg(const CellOutcome& outcome);

}  // namespace penstock::experiment
