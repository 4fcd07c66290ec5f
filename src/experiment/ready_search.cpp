#include "ready_search.hpp"

#include <fmt/format.h>

#include <chrono>

#include "penstock/core/peak_memory.hpp"
#include "penstock/score/least_iteration.hpp"
#include "penstock/score/order.hpp"
#include "penstock/sim/perturbation.hpp"
#include "penstock/sim/repeat.hpp"
#include "penstock/sim/simulate.hpp"

namespace penstock::experiment {
namespace {

using Clock = std::chrono::steady_clock;

/// Stores a search's measurements in the row when it ends, with an answer or an error.
class SearchMeter {
 public:
  SearchMeter(const TimedJudge& judge, bool alone, report::CellResult& row)
      : judge_(judge), row_(row), begin_(Clock::now()) {
    if (alone) memory_.emplace();
  }
  ~SearchMeter() {
    row_.search_s = std::chrono::duration<double>(Clock::now() - begin_).count();
    row_.judging_s = judge_.seconds();
    if (const auto bytes = memory_ ? memory_->growth() : std::nullopt)
      row_.search_memory_bytes = bytes->value();
  }
  SearchMeter(const SearchMeter&) = delete;
  SearchMeter& operator=(const SearchMeter&) = delete;

 private:
  const TimedJudge& judge_;
  report::CellResult& row_;
  std::optional<core::PeakMemory> memory_;
  Clock::time_point begin_;
};

/// 95th percentile of the iteration time under the perturbation, over seeds.
std::function<core::Seconds(const plan::Plan&, core::Seconds)> p95_against(const cost::Problem& problem,
                                                                           sim::SimulationOptions simulation,
                                                                           const PerturbedSeeds& seeds) {
  simulation.perturbation = seeds.perturbation.get();
  simulation.seed = seeds.seed;
  return [&problem, simulation, kept = seeds.perturbation, count = seeds.count](const plan::Plan& plan,
                                                                                core::Seconds to_beat) {
    return to_seconds(sim::quantile_against(problem, score::scheduled(problem, plan), simulation, count, 95,
                                            to_picoseconds(to_beat)));
  };
}

/// A time that every plan beats, far below the simulator's limit.
constexpr core::Seconds kNever(1e6);

}  // namespace

core::Seconds TimedJudge::time(const std::function<core::Seconds()>& judge) {
  const auto begin = Clock::now();
  const core::Seconds out = judge();
  nanoseconds_ += std::chrono::nanoseconds(Clock::now() - begin).count();
  return out;
}

void FastestPlan::see(const plan::Plan& plan, core::Seconds time) {
  const std::lock_guard lock(mutex_);
  if (!(time < time_)) return;
  time_ = time;
  plan_ = plan;
}

PlanEvaluators::PlanEvaluators(const SearchSetting& setting, TimedJudge& timed, core::StopToken stop)
    : setting_(setting), timed_(timed), simulation_(setting.simulation) {
  simulation_.stop = stop;
}

void PlanEvaluators::hand_in(const cost::Problem& problem, planners::SearchOptions& options,
                             PlanWatchers watchers) {
  const auto against = setting_.robust ? p95_against(problem, simulation_, *setting_.robust)
                                       : simulated_time_against(problem, simulation_);
  const auto simulated = setting_.robust ? [against](const plan::Plan& plan) { return against(plan, kNever); }
                                         : simulated_time(problem, simulation_);
  // Only times below `to_beat` are exact.
  const auto seen = [watchers](const plan::Plan& plan, core::Seconds time, core::Seconds to_beat) {
    if (watchers.kept) watchers.kept->see(plan, time);
    if (watchers.fastest && time < to_beat) watchers.fastest->see(plan, time);
    return time;
  };
  // Slower plans up to this factor are evaluated, too.
  const double within = watchers.kept ? KeptPlans::kWithin : 1;
  options.evaluate = [this, simulated, seen](const plan::Plan& plan) {
    return seen(plan, timed_.time([&] { return simulated(plan); }), kNever);
  };
  options.evaluate_against = [this, against, seen, within](const plan::Plan& plan, core::Seconds to_beat) {
    return seen(plan, timed_.time([&] { return against(plan, to_beat * within); }), to_beat * within);
  };
  // With a perturbation devices may be faster than their type, and on links collectives may be faster than
  // their closed form.
  if (!setting_.robust && simulation_.pass_collectives == sim::PassCollectives::closed_form)
    options.at_least = [this, &problem, within](const plan::Plan& plan) {
      return score::least_iteration(problem, plan, reduction(simulation_)) / within;
    };
  if (!setting_.robust)  // the perturbation belongs to this cluster's devices and links
    options.judge_another = [this](const cost::Problem& other, planners::SearchOptions& another) {
      hand_in(other, another);
    };
}

ReadySearch::ReadySearch(const cost::Problem& asked, const Cell& cell, const SearchSetting& setting,
                         core::StopToken stop)
    : problem(asked),
      options(setting.options),
      asked_(asked),
      space_(setting.runnable_by, asked.graph, cell.model),
      setting_(setting),
      judges_(setting, timed_, stop) {
  planners::check_options(planners::planner(cell.planner.name), cell.planner.options);
  memo_.serve(problem);
  options.own = cell.planner.options;
  if (cell.planner.name == "joint") space_.limit(options.own, setting.options.from);
  options.runnable = space_.runnable();
  options.model = cell.model;
  options.cluster = cell.cluster;
  if (setting.top > 1) kept_.emplace(problem, options.runnable);
  judges_.hand_in(problem, options, {kept_ ? &*kept_ : nullptr, &fastest_});
}

planners::SearchResult ReadySearch::measured(const std::function<planners::SearchResult()>& search,
                                             report::CellResult& row) const {
  planners::SearchResult found = [&] {
    const SearchMeter meter(timed_, setting_.alone, row);
    return search();
  }();
  row.states = static_cast<std::int64_t>(found.states);
  if (found.estimate) row.estimate_s = found.estimate->value();
  return found;
}

core::Seconds ReadySearch::checked_time(const plan::Plan& plan) const {
  const core::Seconds believed = simulated_time(problem, setting_.simulation)(plan),
                      time = simulated_time(asked_, setting_.simulation)(plan);
  if (believed != time)
    throw core::Error(core::ExitCode::internal,
                      fmt::format("the search believed that a plan takes {:.12g} s, and it takes {:.12g} s: "
                                  "please report this defect with the command",
                                  believed.value(), time.value()));
  return time;
}

void ReadySearch::check_times(const plan::Plan& answer) const {
  const core::Seconds time = checked_time(answer);
  if (fastest_.plan()) checked_time(*fastest_.plan());
  if (options.from == nullptr || options.runnable) return;  // a framework may not run the plan that is given
  const core::Seconds before = checked_time(*options.from);
  if (time > before && !setting_.robust && !options.least_memory_within && !options.judge_by_estimate)
    throw core::Error(core::ExitCode::internal,
                      fmt::format("the plan takes {:.12g} s, and the one that the search began at {:.12g} s: "
                                  "please report this defect with the command",
                                  time.value(), before.value()));
}

std::vector<plan::Plan> ReadySearch::others(const plan::Plan& best, std::size_t most) const {
  return kept_ ? kept_->others(best, most) : std::vector<plan::Plan>();
}

}  // namespace penstock::experiment
