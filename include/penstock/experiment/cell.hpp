#pragma once
// One cell: plan, evaluate, score, simulate.

#include <exception>
#include <functional>
#include <memory>
#include <optional>

#include "penstock/core/stop.hpp"
#include "penstock/cost/problem.hpp"
#include "penstock/experiment/runnable_bound.hpp"
#include "penstock/experiment/spec.hpp"
#include "penstock/planners/planner.hpp"
#include "penstock/report/results.hpp"
#include "penstock/schedule/scheduled_plan.hpp"
#include "penstock/score/problem_bound.hpp"
#include "penstock/sim/options.hpp"
#include "penstock/trace/summary.hpp"

namespace penstock::experiment {

struct CellOutcome {
  report::CellResult row;
  std::optional<plan::Plan> plan;
  std::optional<trace::Trace> trace;  ///< if requested
  std::optional<trace::Summary> summary;
  std::exception_ptr error{};  ///< for try_cell: error in the input, or internal error, that the row reports
  std::vector<CellOutcome> others{};  ///< next best plans of other kinds, fastest first (SearchSetting::top)
  std::optional<RunnableBound> runnable{};  ///< if requested (SearchSetting::bound_runnable)
};

/// Iterations under a perturbation with the seeds `seed`, `seed` + 1, ...
struct PerturbedSeeds {
  std::shared_ptr<const sim::Perturbation> perturbation;  ///< for the problem's cluster
  std::uint64_t seed = 0;
  std::size_t count = 1;
};

/// Settings of a search beyond the problem.
struct SearchSetting {
  planners::SearchOptions options;  ///< the search sets `evaluate`
  sim::SimulationOptions simulation;
  std::optional<core::Seconds> time_limit;
  bool alone = false;  ///< no other search runs in this process, so its memory is measured
  std::optional<core::Bytes> memory_limit{};  ///< limit on its memory, for a search that runs by itself
  /// The plan found runs under it; the search does not use it.
  const sim::Perturbation* perturbation = nullptr;
  bool keep_trace = true;     ///< the outcome has a trace, and not only its summary
  std::size_t top = 1;        ///< number of plans in the outcome: the best, then the fastest of other kinds
  std::string runnable_by{};  ///< framework that must be able to run the plan; "": any plan
  /// `joint` stops once a plan takes at most so much longer than that bound; none: it goes on.
  std::optional<double> gap{};
  BoundEffort bound_runnable = BoundEffort::none;  ///< for what no plan of that framework beats
  std::optional<PerturbedSeeds> robust{};  ///< plans are evaluated by the 95th percentile of these iterations
};

/// Plans, evaluates, scores and simulates. Status "ok"; or "timed out: ...", "memory full: ..." or
/// "interrupted: ..." for the best plan before the limit (StopToken::ended is one). Also "interrupted: ..."
/// if the user ended the lower bound after the search, which is then missing. Throws Infeasible or LimitHit
/// if there is no plan, an internal error if score::violations rejects it.
CellOutcome search(const cost::Problem& problem, const Cell& cell, const SearchSetting& setting,
                   core::StopToken stop);

/// Searches like `search`; without a plan the row has the reason: "infeasible: ...", "timed out: ...",
/// "memory full: ..." or "limit: ...".
CellOutcome try_search(const cost::Problem& problem, const Cell& cell, const SearchSetting& setting,
                       core::StopToken stop);

/// Runs one cell of the spec in memory; writes nothing. Like try_search. Throws InterruptedError when stopped.
/// With a memory limit it must be the only search of the process.
CellOutcome run_cell(const Spec& spec, const Cell& cell, const cost::CostModel& costs, core::StopToken stop);

/// See SearchOptions::known.
using Known = std::function<std::optional<planners::SearchResult>(const planners::PlannerChoice&)>;

/// Runs a cell of the spec; every failure becomes a row: "bad input: ...", "out of memory: ...", or
/// "internal: ..." for an internal error. Throws only InterruptedError.
CellOutcome try_cell(const Spec& spec, const Cell& cell, const cost::CostModel& costs, core::StopToken stop,
                     const Known& known = {});

/// Planners whose answers a cell with `joint` uses: planners::joint_questions. Throws BadInput.
planners::JointQuestions joint_questions(const Spec& spec, const Cell& cell, const cost::CostModel& costs);

/// Answer of one of these planners on the cell: planners::joint_answer. Throws like planners.
planners::SearchResult joint_answer(const Spec& spec, const Cell& cell,
                                    const planners::PlannerChoice& question, const cost::CostModel& costs,
                                    core::StopToken stop, const Known& known = {});

/// Throws a limit error unless it is above zero: what takes less than a picosecond, the simulator's unit, has
/// no rate.
void check_length(core::Picoseconds iteration);

/// True if the cell always gives this row: a completed search, no plan that fits, or a problem too large for
/// Penstock. False for a limit on time or memory that was hit, for a violation, and for planners of the
/// calling program, which may change.
bool lasting(const report::CellResult& row);

/// True if the row has the best plan before the user ended the search.
bool interrupted(const report::CellResult& row);

/// True if the machine ran out of memory during the cell.
bool out_of_memory(const report::CellResult& row);

/// Returns a row that has only its status.
report::CellResult without_plan(const Cell& cell, std::string status);

/// Returns iteration time by simulation, for SearchOptions::evaluate. Throws LimitHit when simulation.stop
/// does. The problem must outlive it.
std::function<core::Seconds(const plan::Plan&)> simulated_time(const cost::Problem& problem,
                                                               const sim::SimulationOptions& simulation);

/// Returns simulated time for planners::SearchOptions::evaluate_against.
std::function<core::Seconds(const plan::Plan&, core::Seconds)> simulated_time_against(
    const cost::Problem& problem, const sim::SimulationOptions& simulation);

/// Sets another schedule for the same stages. In-flight counts become 0 (to be derived again), and k becomes
/// 1 unless the schedule is 1f1b, because the old values do not apply.
void reschedule(plan::Plan& plan, const std::string& schedule);

/// For lower bounds: throws InterruptedError or SearchEnded when the user stops the work. Limits on time and
/// memory apply only to the search.
score::BoundCheck until_user_stops(core::StopToken stop);

/// All-reduces that lower bounds may assume for this simulation.
score::ReductionTiming reduction(const sim::SimulationOptions& simulation);

/// The part of a row that is known before anything runs; without a problem, everything except the costs.
report::CellResult describe(const Cell& cell);
report::CellResult describe(const cost::Problem& problem, const Cell& cell);
report::CellResult describe(const cost::Problem& problem, const plan::Plan& plan);

/// Fills in the numbers of a finished, valid plan: estimate (unless the row has one), lower bound (without
/// perturbation), simulation, memory. A trace is the largest part of a long run's memory.
CellOutcome evaluate(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                     report::CellResult row, const sim::SimulationOptions& simulation, bool keep_trace);

}  // namespace penstock::experiment
