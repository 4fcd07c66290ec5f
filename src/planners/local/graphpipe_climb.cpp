#include <array>

#include "families.hpp"
#include "local/climb.hpp"
#include "own_options.hpp"
#include "penstock/score/estimate.hpp"
#include "sweep.hpp"

namespace penstock::planners {
namespace {

struct Rule {
  const char* name;
  schedule::InFlight in_flight;
};
constexpr std::array<Rule, 2> kRules = {
    {{"depth", schedule::InFlight::depth}, {"hide_transfers", schedule::InFlight::hide_transfers}}};

class Climber {
 public:
  /// `most`: plans to judge on each climb.
  Climber(const cost::Problem& problem, const SearchOptions& options, std::uint64_t most,
          core::StopToken stop)
      : problem_(problem), options_(options), most_(most), stop_(stop) {
    options_.own.erase("evaluations");  // the sweeps have none
  }

  /// From the best plan of each space, and from one stage on all devices.
  void climb_by(const Rule& rule) {
    SearchOptions options = options_;
    options.own["in_flight"] = rule.name;
    const auto swept = [&](Structure space) {
      return [&, space] { return sweep("graphpipe_climb", problem_, options, {space}, stop_); };
    };
    const std::array<std::function<SearchResult()>, 3> starts = {
        swept(Structure::series_parallel), swept(Structure::row_as_graph),
        [&] { return data_parallel(problem_, options_, stop_); }};
    for (const auto& start : starts) {
      try {
        climb_from(start(), rule);
      } catch (const core::Infeasible& fault) {
        if (!obstacle_) obstacle_ = fault;
      } catch (const core::LimitHit&) {
        late_ = true;
      }
    }
  }

  SearchResult best() {
    if (!best_ && late_) stop_.give_up();
    if (!best_) throw *obstacle_;
    best_->complete = !late_;
    best_->states = states_;
    best_->bottleneck = score::estimate(problem_, best_->plan).bottleneck;
    return std::move(*best_);
  }

 private:
  void climb_from(SearchResult found, const Rule& rule) {
    const plan::Stage& first = found.plan.stages.front();
    if (first.recompute || first.zero > 0) return;  // of another space
    const PlanJudge judge = [&](const plan::Plan& plan, core::Seconds to_beat) {
      return by_evaluation(options_) ? evaluated_to_win(options_, plan, to_beat)
                                     : score::estimate(problem_, plan).iteration;
    };
    Climbed top = climb(problem_, options_, std::move(found.plan), rule.in_flight, most_, judge, stop_);
    late_ = late_ || !found.complete || !top.complete;
    states_ += found.states + top.judged;
    if (best_ && least_ <= top.iteration) return;
    least_ = top.iteration;
    found.plan = std::move(top.plan);
    best_ = std::move(found);
  }

  const cost::Problem& problem_;
  SearchOptions options_;
  std::uint64_t most_;
  core::StopToken stop_;
  std::optional<SearchResult> best_;
  core::Seconds least_;
  std::uint64_t states_ = 0;
  bool late_ = false;
  std::optional<core::Infeasible> obstacle_;
};

}  // namespace

const std::vector<PlannerOption>& climb_options() {
  static const std::vector<PlannerOption> options = [] {
    std::vector<PlannerOption> out = sweep_options();
    out.push_back(number("evaluations", 2000, 0, std::int64_t{1} << 30,
                         "plans judged on each climb; 0: the best of the plans that it begins with"));
    return out;
  }();
  return options;
}

// Ours. What neither the series-parallel space nor the row holds: stages with pieces of several branches, any
// number of replicas, and stages on the devices that suit their messages; found step by step from the best
// plan of each, and from plain data parallelism (climb.hpp). A climb that goes on for long ends
// after `evaluations`.
SearchResult graphpipe_climb(const cost::Problem& problem, const SearchOptions& options,
                             core::StopToken stop) {
  const OwnValues own("graphpipe_climb", climb_options(), options.own);
  Climber climber(problem, options, static_cast<std::uint64_t>(own.number("evaluations")), stop);
  for (const Rule& rule : kRules)
    if (own.word("in_flight") == rule.name || own.word("in_flight") == "either") climber.climb_by(rule);
  return climber.best();
}

}  // namespace penstock::planners
