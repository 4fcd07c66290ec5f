#pragma once
// One cell: plan, judge, score, simulate.

#include <exception>
#include <functional>
#include <memory>
#include <optional>

#include "penstock/core/stop.hpp"
#include "penstock/cost/problem.hpp"
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
  std::optional<trace::Trace> trace;  ///< when asked for
  std::optional<trace::Summary> summary;
  std::exception_ptr
      error{};  ///< of try_cell: the mistake in the input, or the defect, that the row is about
  std::vector<CellOutcome> others{};  ///< next best plans of other kinds, fastest first (SearchSetting::top)
};

/// Iterations under a perturbation with the seeds `seed`, `seed` + 1, ...
struct Seeds {
  std::shared_ptr<const sim::Perturbation> perturbation;  ///< made for the problem's cluster
  std::uint64_t seed = 0;
  std::size_t count = 1;
};

/// What a search is told beside the problem.
struct SearchSetting {
  planners::SearchOptions options;  ///< `evaluate` is set by the search
  sim::SimulationOptions simulation;
  std::optional<core::Seconds> time_limit;
  bool alone = false;  ///< no other search runs in this process: its memory is measured
  std::optional<core::Bytes> memory_limit{};        ///< of its memory, for a search that runs alone
  const sim::Perturbation* perturbation = nullptr;  ///< the plan found runs under it; the search is told
                                                    ///< nothing of it
  bool keep_trace = true;                           ///< the outcome has a trace, not its summary alone
  std::size_t top =
      1;  ///< plans of the outcome: beyond the best, the fastest of other kinds that were judged
  std::optional<Seeds> robust{};  ///< plans are judged by the 95th percentile of these iterations
};

/// Plans, judges, scores and simulates; status "ok", or "timed out: ...", "memory full: ..." or "interrupted:
/// ..." for the best plan until the limit (StopToken::ended is one); "interrupted: ..." too where the user
/// ended what comes behind the search, the lower bound, which is missing then. Throws Infeasible or LimitHit
/// when there is no plan, an internal error when score::violations rejects it.
CellOutcome search(const cost::Problem& problem, const Cell& cell, const SearchSetting& setting,
                   core::StopToken stop);

/// Searches as `search`; without a plan the row has the reason: "infeasible: ...", "timed out: ...", "memory
/// full: ..." or "limit: ...".
CellOutcome try_search(const cost::Problem& problem, const Cell& cell, const SearchSetting& setting,
                       core::StopToken stop);

/// Everything of one cell of the spec in memory; writes nothing. As try_search. Throws Interrupted when
/// stopped. With a memory limit it must be the only search of the process.
CellOutcome run_cell(const Spec& spec, const Cell& cell, const cost::CostModel& costs, core::StopToken stop);

/// SearchOptions::known.
using Known = std::function<std::optional<planners::SearchResult>(const planners::PlannerChoice&)>;

/// Runs a cell of the spec; every failure becomes a row: "bad input: ...", "out of memory: ...", or
/// "internal: ..." for a defect of ours. Throws Interrupted alone.
CellOutcome try_cell(const Spec& spec, const Cell& cell, const cost::CostModel& costs, core::StopToken stop,
                     const Known& known = {});

/// What a cell of `joint`'s asks: planners::joint_questions. Throws BadInput.
planners::JointQuestions joint_questions(const Spec& spec, const Cell& cell, const cost::CostModel& costs);

/// What another planner finds on it: planners::joint_answer. Throws as planners do.
planners::SearchResult joint_answer(const Spec& spec, const Cell& cell,
                                    const planners::PlannerChoice& question, const cost::CostModel& costs,
                                    core::StopToken stop, const Known& known = {});

/// Throws a limit's error unless it is above zero: what takes less than a picosecond, the simulator's unit,
/// has no rate.
void check_length(core::Picoseconds iteration);

/// Whether the row is what its cell always gives: a plan that was searched to the end, none that fits, or
/// what is too large for Penstock; not a limit on time or memory that was hit, not a violation, and nothing
/// by a planner of the calling program, which may be another one the next time.
bool lasting(const report::CellResult& row);

/// The row has the best plan until the user ended the search.
bool interrupted(const report::CellResult& row);

/// The cell asked for more than the machine had just then.
bool out_of_memory(const report::CellResult& row);

/// A row that has only its status.
report::CellResult without_plan(const Cell& cell, std::string status);

/// Iteration time by simulation, as planners want it handed in: it ends with LimitHit where simulation.stop
/// says so. The problem must outlive it.
std::function<core::Seconds(const plan::Plan&)> simulated_time(const cost::Problem& problem,
                                                               const sim::SimulationOptions& simulation);

/// Simulated time of a plan that is to beat a time (planners::SearchOptions::evaluate_against).
std::function<core::Seconds(const plan::Plan&, core::Seconds)> simulated_time_against(
    const cost::Problem& problem, const sim::SimulationOptions& simulation);

/// Another schedule for the same stages. What they held in flight, and in what runs, says nothing about it:
/// in-flight counts become 0, to be derived anew, and k becomes 1 unless it is 1f1b.
void reschedule(plan::Plan& plan, const std::string& schedule);

/// For lower bounds: throws Interrupted or SearchEnded when the user stops the work. Limits on time and
/// memory are those of the search alone.
score::BoundCheck until_user_stops(core::StopToken stop);

/// What lower bounds may assume of the simulation's all-reduces.
score::Reduction reduction(const sim::SimulationOptions& simulation);

/// The part of a row that is known before anything runs; without a problem, all but the costs.
report::CellResult describe(const Cell& cell);
report::CellResult describe(const cost::Problem& problem, const Cell& cell);

/// Fills in the numbers of a finished, valid plan: estimate (unless the row has one), lower bound (where
/// nothing is perturbed), simulation, memory. A trace is most of what a long run holds.
CellOutcome evaluate(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                     report::CellResult row, const sim::SimulationOptions& simulation, bool keep_trace);

}  // namespace penstock::experiment
