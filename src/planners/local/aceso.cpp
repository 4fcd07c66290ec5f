#include "local/aceso.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>

#include "baselines/balanced_cuts.hpp"
#include "candidates.hpp"
#include "families.hpp"
#include "local/alleviation.hpp"
#include "own_options.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/plan/plan_file.hpp"
#include "penstock/score/estimate.hpp"
#include "penstock/score/validate.hpp"
#include "row_plan.hpp"
#include "sweep.hpp"

namespace penstock::planners {
namespace {

using core::Bytes;
using plan::Plan;

constexpr std::size_t kWorstStages = 2, kBeam = 3;
/// Factors on time beyond which a start is not improved. First factor: relative to the best answer so far;
/// none of 29 starts on 64 devices ever improved to less than 0.49 of its time. The deepest pipelines, which
/// take longest to evaluate, are the farthest off. Second factor: relative to the cutoff; any value from 1.5
/// on gives equal answers for 15 models on 8 to 64 devices of two clusters.
constexpr double kHopeless = 3, kOfNoUse = 1.5;
constexpr double kNoLimit = std::numeric_limits<double>::infinity();

/// Compared by memory first, then time.
struct JudgedPlan {
  Plan plan;
  Bytes missing;       ///< summed over stages
  double seconds = 0;  ///< seconds per iteration
  bool beats(const JudgedPlan& other) const {
    return missing != other.missing ? missing < other.missing : seconds < other.seconds;
  }
};

/// Score of a plan in a list, or a lower bound on it.
struct PlanRank {
  Bytes missing;
  double seconds = 0;
  std::size_t plan = 0;
  friend auto operator<=>(const PlanRank&, const PlanRank&) = default;
};
constexpr PlanRank kLast{Bytes(std::numeric_limits<std::int64_t>::max()), kNoLimit, 0};

struct AlleviationResult {
  SearchResult found;
  double seconds = 0;  ///< seconds per iteration, by the judge
};

class AcesoSearch {
 public:
  AcesoSearch(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop)
      : problem_(problem), options_(options), stop_(stop), units_(planning_units(problem.graph)) {
    const OwnValues own("aceso", aceso_options(), options.own);
    rounds_ = static_cast<int>(own.number("rounds"));
    hops_ = static_cast<int>(own.number("hops"));
  }

  AlleviationResult run(Plan start) {
    core::require(start.schedule == "1f1b", "only 1f1b plans are alleviated");
    JudgedPlan best = judged(std::move(start));
    seen_.insert(plan::to_yaml(problem_.graph, best.plan));
    const bool complete = improve_all(best);
    if (best.missing.value() > 0 && !complete) stop_.give_up();
    if (best.missing.value() > 0) fail_on(problem_, best.plan);
    const double bottleneck = estimate(best.plan).bottleneck;
    return {{std::move(best.plan), bottleneck, seen_.size(), {}, complete}, best.seconds};
  }

 private:
  score::PlanEstimate estimate(const Plan& plan) const { return score::estimate(problem_, plan); }

  std::vector<Bytes> missing(const Plan& plan) const {
    std::vector<Bytes> out;
    const auto memories = score::stage_memories(problem_, plan);
    for (std::size_t s = 0; s < plan.stages.size(); ++s) {
      const Bytes need = plan::total(memories[s]);
      Bytes most(0);
      for (core::DeviceId d : plan.stages[s].devices)
        most = std::max(most, need - problem_.cluster.type(d).memory);
      out.push_back(most);
    }
    return out;
  }

  Bytes lacking(const Plan& plan) const {
    Bytes sum(0);
    for (Bytes bytes : missing(plan)) sum += bytes;
    return sum;
  }

  JudgedPlan judged(Plan plan) const {
    const Bytes lacks = lacking(plan);
    const double seconds = judged_seconds(problem_, options_, plan);
    return {std::move(plan), lacks, seconds};
  }

  /// Stages that miss the most memory; among equals those that take the most time.
  std::vector<std::size_t> worst(const Plan& plan) const {
    const auto lacks = missing(plan);
    const auto terms = estimate(plan).stages;
    std::vector<std::size_t> order(plan.stages.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return lacks[a] != lacks[b] ? lacks[a] > lacks[b]
                                  : terms[a].time_per_sample() > terms[b].time_per_sample();
    });
    if (order.size() > kWorstStages) order.resize(kWorstStages);
    return order;
  }

  /// Plans that one primitive leads to and that are new.
  std::vector<Plan> next(const Plan& plan) {
    std::vector<Plan> fresh;
    for (std::size_t s : worst(plan))
      for (Plan& changed : alleviations(problem_, options_, units_, plan, s, stop_))
        if (seen_.insert(plan::to_yaml(problem_.graph, changed)).second) fresh.push_back(std::move(changed));
    return fresh;
  }

  std::vector<PlanRank> promises(const std::vector<Plan>& plans) const {
    std::vector<PlanRank> out(plans.size());
    core::parallel_for(plans.size(), [&](std::size_t i) {
      stop_.check();
      out[i] = {lacking(plans[i]), evaluated_at_least(options_, plans[i]).value(), i};
    });
    std::sort(out.begin(), out.end());
    return out;
  }

  /// The first `most` plans that rank before `bar`, best first. The most promising are evaluated first, so
  /// that many need no evaluation.
  std::vector<PlanRank> leading(const std::vector<Plan>& plans, const std::vector<PlanRank>& order,
                                std::size_t most, const PlanRank& bar) const {
    std::vector<PlanRank> best;
    std::mutex changing;
    // Seconds that a plan must not exceed; negative: the plan cannot be among the best.
    const auto to_beat = [&](const PlanRank& promise) {
      const std::lock_guard lock(changing);
      const PlanRank& last = best.size() < most ? bar : best.back();
      if (promise.missing < last.missing) return kNoLimit;
      const bool hopeless =
          std::pair(promise.missing, promise.seconds) > std::pair(last.missing, last.seconds);
      return hopeless ? -1 : last.seconds;
    };
    core::parallel_in_order(order.size(), [&](std::size_t i) {
      const PlanRank& promise = order[i];
      stop_.check();
      const double limit = to_beat(promise);
      if (limit < 0) return;
      const Plan& plan = plans[promise.plan];
      const double seconds = by_evaluation(options_) ? evaluated(options_, plan, core::Seconds(limit)).value()
                                                     : judged_seconds(problem_, options_, plan);
      const PlanRank rank{promise.missing, seconds, promise.plan};
      if (!(rank < bar)) return;
      const std::lock_guard lock(changing);
      best.insert(std::lower_bound(best.begin(), best.end(), rank), rank);
      if (best.size() > most) best.pop_back();
    });
    return best;
  }

  /// Returns true if nothing improves any more, false at the deadline.
  bool improve_all(JudgedPlan& best) {
    try {
      for (int round = 0; round < rounds_; ++round) {
        auto better = improve(best, best, hops_);
        if (!better) break;
        best = std::move(*better);
      }
      return true;
    } catch (const core::LimitHit&) {
      return false;
    }
  }

  /// Returns the best plan one primitive away that beats `best`, otherwise one reached from the best kBeam of
  /// these. A bound often shows early that a plan does not beat `best`, so that check comes first.
  std::optional<JudgedPlan> improve(const JudgedPlan& from, const JudgedPlan& best, int hops) {
    std::vector<Plan> found = next(from.plan);
    const std::vector<PlanRank> order = promises(found);
    const auto taken = [&](const PlanRank& rank) {
      return JudgedPlan{std::move(found[rank.plan]), rank.missing, rank.seconds};
    };
    const auto better = leading(found, order, 1, {best.missing, best.seconds, 0});
    if (!better.empty()) return taken(better.front());
    if (hops == 1) return std::nullopt;
    for (const PlanRank& rank : leading(found, order, kBeam, kLast))
      if (auto behind = improve(taken(rank), best, hops - 1)) return behind;
    return std::nullopt;
  }

  const cost::Problem& problem_;
  const SearchOptions& options_;
  core::StopToken stop_;
  UnitGraph units_;
  int rounds_, hops_;
  std::set<std::string> seen_;  ///< plans as text
};

/// Balanced stages of `replicas` devices: the fastest plan that fits, otherwise the one that needs the least
/// memory, which may not fit.
std::optional<Plan> balanced(const cost::Problem& problem, const SearchOptions& options,
                             const UnitGraph& units, int replicas, core::StopToken stop) {
  const std::size_t stages = problem.cluster.size() / static_cast<std::size_t>(replicas);
  const std::size_t size = units.operators.size();
  if (stages > size) return std::nullopt;
  std::vector<EvenRow> rows;
  for (std::int64_t micro_batch : shared_sizes(problem, options, replicas))
    for (const plan::Recomputation& recompute : {plan::kRecomputeStage, plan::Recomputation()})
      rows.push_back({stages, replicas, micro_batch, options.k, "1f1b", recompute});
  if (rows.empty()) return std::nullopt;
  const auto cut = [&](const EvenRow& row) {
    const RunTimes times(problem, units, row.micro_batch, replicas, bool(row.recompute));
    return BalancedCuts(stages, size, times, stop).ends(stages, size);
  };
  try {
    return fastest(problem, options, units, rows, cut, "", stop).plan;
  } catch (const core::Infeasible&) {
    return row_plan(problem, units, rows.front(), cut(rows.front()));
  }
}

/// Best improved plan so far.
class BestStart {
 public:
  BestStart(const cost::Problem& problem, core::StopToken stop)
      : problem_(problem), stop_(stop), obstacle_(no_even_row(problem, problem.graph.size())) {}

  /// Calls start() and improves its plan, unless there is none or it is too slow.
  template <class F>
  void consider(const SearchOptions& options, F&& start) {
    try {
      std::optional<Plan> plan = start();
      if (plan && !hopeless(options, *plan))
        keep(AcesoSearch(problem_, options, stop_).run(std::move(*plan)));
    } catch (const core::Infeasible& e) {
      obstacle_ = e.what();
    } catch (const core::LimitHit&) {
      complete_ = false;
    }
  }

  bool complete() const { return complete_; }  ///< false: a limit ended some start

  SearchResult result() {
    if (!best_ && !complete_) stop_.give_up();
    if (!best_) throw core::Infeasible(obstacle_);
    best_->states = states_;
    best_->complete = complete_;
    return std::move(*best_);
  }

 private:
  bool hopeless(const SearchOptions& options, const Plan& start) {
    const core::Seconds most =
        std::min(core::Seconds(best_ ? kHopeless * seconds_ : kNoLimit), options.give_up * kOfNoUse);
    if (std::isinf(most.value())) return false;
    const bool slow =
        judged(options, start, score::estimate(problem_, start).iteration, most).iteration > most;
    states_ += slow;
    return slow;
  }

  void keep(AlleviationResult alleviated) {
    states_ += alleviated.found.states;
    complete_ = complete_ && alleviated.found.complete;
    if (best_ && alleviated.seconds >= seconds_) return;
    seconds_ = alleviated.seconds;
    best_ = std::move(alleviated.found);
  }

  const cost::Problem& problem_;
  core::StopToken stop_;
  std::optional<SearchResult> best_;
  double seconds_ = 0;
  std::uint64_t states_ = 0;
  bool complete_ = true;
  std::string obstacle_;  ///< obstacle of the last start without a result
};

}  // namespace

SearchResult alleviate(const cost::Problem& problem, const SearchOptions& options, Plan start,
                       core::StopToken stop) {
  return AcesoSearch(problem, options, stop).run(std::move(start)).found;
}

const std::vector<PlannerOption>& aceso_options() {
  static const std::vector<PlannerOption> options = {
      number("rounds", 64, 0, 1024, "most improvements of each start"),
      number("hops", 2, 1, 7,
             "changes in a row of which the first may do harm; the paper has 7, each multiplies the time by "
             "three"),
  };
  return options;
}

SearchResult aceso(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop) {
  const UnitGraph units = planning_units(problem.graph);
  BestStart best(problem, stop);
  const auto begin_from_all = [&](const SearchOptions& asked) {
    SearchOptions row = asked;
    row.own = {};  // these belong to Aceso
    best.consider(asked, [&] { return std::optional(spp(problem, row, stop).plan); });
    auto sizes = rank_sizes(problem, asked);
    std::reverse(sizes.begin(), sizes.end());  // the deepest pipeline last: it misses the least
    for (int replicas : sizes)
      best.consider(asked, [&] { return balanced(problem, asked, units, replicas, stop); });
  };
  begin_from_all(options);
  if (options.micro_batch || options.pipeline_micro_batch) return best.result();
  // A free local search may end worse than one with a fixed size, so each size is also tried as if fixed.
  SearchOptions pinned = options;
  for (const std::int64_t size : pinnable_sizes(problem, options)) {
    if (!best.complete()) break;
    pinned.micro_batch = size;
    begin_from_all(pinned);
  }
  return best.result();
}

}  // namespace penstock::planners
