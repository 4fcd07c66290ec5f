#pragma once
// One cell: plan, judge, score, simulate.

#include <functional>
#include <optional>

#include "penstock/core/stop.hpp"
#include "penstock/cost/problem.hpp"
#include "penstock/experiment/spec.hpp"
#include "penstock/report/results.hpp"
#include "penstock/sim/options.hpp"
#include "penstock/trace/summary.hpp"

namespace penstock::experiment {

struct CellOutcome {
  report::CellResult row;
  std::optional<plan::Plan> plan;
  std::optional<trace::Trace> trace;
  std::optional<trace::Summary> summary;
};

/// Everything of one cell of the spec in memory; writes nothing. An infeasible cell is a row with its reason; a plan that
/// score::faults rejects is an internal error. Throws Interrupted when stopped.
CellOutcome run_cell(const Spec& spec, const Cell& cell, const cost::CostModel& costs, core::StopToken stop);

/// Iteration time by simulation, as planners want it handed in. The problem must outlive it.
std::function<core::Seconds(const plan::Plan&)> simulated_time(const cost::Problem& problem,
                                                                     const sim::SimulationOptions& simulation);

/// The part of a row that is known before anything runs.
report::CellResult describe(const Cell& cell);

/// Fills in the numbers of a finished, valid plan: estimate, simulation, memory.
CellOutcome evaluate(const cost::Problem& problem, const plan::Plan& plan, report::CellResult row,
                     const sim::SimulationOptions& simulation);

}  // namespace penstock::experiment
