#pragma once
// Private to the room: a planner's search with all its settings, and its measurements.

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <vector>

#include "framework_space.hpp"
#include "kept_plans.hpp"
#include "penstock/cost/stage_memo.hpp"
#include "penstock/experiment/cell.hpp"
#include "penstock/planners/planner.hpp"

namespace penstock::experiment {

/// Counts the seconds of planners' evaluations, over all threads.
class TimedJudge {
 public:
  core::Seconds time(const std::function<core::Seconds()>& judge);
  double seconds() const { return static_cast<double>(nanoseconds_.load()) * 1e-9; }

 private:
  std::atomic<std::int64_t> nanoseconds_{0};
};

/// The fastest plan that a search evaluated. Thread-safe.
class FastestPlan {
 public:
  void see(const plan::Plan& plan, core::Seconds time);
  /// None if no plan was evaluated.
  const std::optional<plan::Plan>& plan() const { return plan_; }

 private:
  std::mutex mutex_;
  core::Seconds time_{std::numeric_limits<double>::infinity()};
  std::optional<plan::Plan> plan_;
};

/// Receivers of the plans that a search evaluates; null: none.
struct PlanWatchers {
  KeptPlans* kept = nullptr;
  FastestPlan* fastest = nullptr;
};

/// Sets up evaluation of a search's plans, for any problem.
class PlanEvaluators {
 public:
  /// Setting and meter must outlive it; it must outlive the options it is set in.
  PlanEvaluators(const SearchSetting& setting, TimedJudge& timed, core::StopToken stop);
  /// Sets the evaluation functions of `options`; `watchers` receive this problem's plans.
  void hand_in(const cost::Problem& problem, planners::SearchOptions& options, PlanWatchers watchers = {});

 private:
  const SearchSetting& setting_;
  TimedJudge& timed_;
  sim::SimulationOptions simulation_;
};

/// A planner's search with all its settings.
class ReadySearch {
 public:
  /// Problem and `setting` must outlive it. Throws BadInput for options that the planner does not have.
  ReadySearch(const cost::Problem& asked, const Cell& cell, const SearchSetting& setting,
              core::StopToken stop);
  ReadySearch(const ReadySearch&) = delete;
  ReadySearch& operator=(const ReadySearch&) = delete;

  /// Runs the search and stores its measurements in the row, also if there is no answer.
  planners::SearchResult measured(const std::function<planners::SearchResult()>& search,
                                  report::CellResult& row) const;
  /// Simulates the answer, the fastest plan evaluated and the initial plan, without the search's caches.
  /// Throws an internal Error if a time differs from the search's, or if the answer is slower than the
  /// initial plan although time was the objective.
  void check_times(const plan::Plan& answer) const;
  /// Replaces an answer that SearchSetting::runnable_by cannot run by the nearest one. Returns true if it
  /// changed. Throws Infeasible.
  bool enter_framework(plan::Plan& answer) const { return space_.enter(asked_, answer); }
  /// Next best plans of other kinds.
  std::vector<plan::Plan> others(const plan::Plan& best, std::size_t most) const;

  cost::Problem problem;  ///< with caches
  planners::SearchOptions options;

 private:
  core::Seconds checked_time(const plan::Plan& plan) const;

  const cost::Problem& asked_;
  FrameworkSpace space_;
  const SearchSetting& setting_;
  cost::StageMemo memo_;
  TimedJudge timed_;
  FastestPlan fastest_;
  PlanEvaluators judges_;
  std::optional<KeptPlans> kept_;
};

}  // namespace penstock::experiment
