#pragma once
// Private to the room: a planner's search with all that it goes by, and what it took.

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <vector>

#include "kept_plans.hpp"
#include "penstock/cost/stage_memo.hpp"
#include "penstock/experiment/cell.hpp"
#include "penstock/planners/planner.hpp"

namespace penstock::experiment {

/// Calls planners' evaluations and counts their seconds, over all threads.
class TimedJudge {
 public:
  core::Seconds time(const std::function<core::Seconds()>& judge);
  double seconds() const { return static_cast<double>(nanoseconds_.load()) * 1e-9; }

 private:
  std::atomic<std::int64_t> nanoseconds_{0};
};

/// The fastest plan that a search judged. From any thread.
class FastestPlan {
 public:
  void see(const plan::Plan& plan, core::Seconds time);
  /// Nothing where no plan was judged.
  const std::optional<plan::Plan>& plan() const { return plan_; }

 private:
  std::mutex mutex_;
  core::Seconds time_{std::numeric_limits<double>::infinity()};
  std::optional<plan::Plan> plan_;
};

/// Who sees the plans that a search judges; null: nobody.
struct Watchers {
  KeptPlans* kept = nullptr;
  FastestPlan* fastest = nullptr;
};

/// How plans of a search are judged, of whatever problem.
class Judges {
 public:
  /// Setting and meter outlive it, and the options that it is handed into.
  Judges(const SearchSetting& setting, TimedJudge& timed, core::StopToken stop);
  /// `watchers` see this problem's plans.
  void hand_in(const cost::Problem& problem, planners::SearchOptions& options, Watchers watchers = {});

 private:
  const SearchSetting& setting_;
  TimedJudge& timed_;
  sim::SimulationOptions simulation_;
};

/// What a planner is asked, with all that its search goes by.
class ReadySearch {
 public:
  /// Problem and `setting` outlive it. Throws BadInput for options that the planner does not have.
  ReadySearch(const cost::Problem& asked, const Cell& cell, const SearchSetting& setting,
              core::StopToken stop);
  ReadySearch(const ReadySearch&) = delete;
  ReadySearch& operator=(const ReadySearch&) = delete;

  /// The answer, and in the row what it took, also when there is none.
  planners::SearchResult measured(const std::function<planners::SearchResult()>& search,
                                  report::CellResult& row) const;
  /// Simulates, without the search's memory, the answer, the fastest plan judged on the way and the plan that
  /// the search began at. Throws an internal Error where one takes another time than the search believed, or
  /// where the answer is slower than the beginning although time was to be least.
  void check_times(const plan::Plan& answer) const;
  /// Next best plans of other kinds.
  std::vector<plan::Plan> others(const plan::Plan& best, std::size_t most) const;

  cost::Problem problem;  ///< remembers
  planners::SearchOptions options;

 private:
  core::Seconds checked_time(const plan::Plan& plan) const;

  const cost::Problem& asked_;
  const SearchSetting& setting_;
  cost::StageMemo memo_;
  TimedJudge timed_;
  FastestPlan fastest_;
  Judges judges_;
  std::optional<KeptPlans> kept_;
};

}  // namespace penstock::experiment
