#include <algorithm>
#include <array>
#include <list>
#include <optional>
#include <utility>
#include <vector>

#include "families.hpp"
#include "local/climb.hpp"
#include "own_options.hpp"
#include "penstock/score/estimate.hpp"
#include "sweep.hpp"

namespace penstock::planners {
namespace {

struct ClimbRule {
  const char* name;
  schedule::InFlight in_flight;
};
constexpr std::array<ClimbRule, 2> kRules = {
    {{"depth", schedule::InFlight::depth}, {"hide_transfers", schedule::InFlight::hide_transfers}}};

/// Factors on time beyond which a start is not climbed: relative to the fastest start; relative to the
/// cutoff.
constexpr double kHopeless = 3, kOfNoUse = 1.5;

class GraphpipeClimber {
 public:
  GraphpipeClimber(const cost::Problem& problem, core::StopToken stop) : problem_(problem), stop_(stop) {}

  /// Climbs from the best plan of each space, and from one stage on all devices. `most`: evaluations per
  /// climb.
  void climb_by(const ClimbRule& rule, SearchOptions options, std::uint64_t most) {
    options.own.erase("evaluations");  // sweeps have no such option
    SearchOptions sweeping = options;
    sweeping.own["in_flight"] = rule.name;
    const auto swept = [&](UnitStructure space) {
      return [&, space] { return sweep("graphpipe_climb", problem_, sweeping, {space}, stop_); };
    };
    const std::array<std::function<SearchResult()>, 3> starts = {
        swept(UnitStructure::series_parallel), swept(UnitStructure::row_as_graph),
        [&] { return data_parallel(problem_, options, stop_); }};
    std::list<PlanClimb> climbs;
    for (const auto& start : starts) {
      try {
        add_climb(start(), rule, options, climbs);
      } catch (const core::Infeasible& fault) {
        if (!obstacle_) obstacle_ = fault;
      } catch (const core::LimitHit&) {
        late_ = true;
      }
    }
    leave_hopeless(climbs, options.give_up * kOfNoUse);
    race(climbs, most);
  }

  bool late() const { return late_; }  ///< a limit ended some climb

  SearchResult result(core::Seconds give_up) {
    if (!best_ && late_) stop_.give_up();
    if (!best_ && obstacle_) throw *obstacle_;
    if (!best_) nothing_within("graphpipe_climb", give_up);
    const double bottleneck = score::estimate(problem_, best_->plan).bottleneck;
    return {std::move(best_->plan), bottleneck, states_, {}, !late_};
  }

 private:
  void add_climb(SearchResult found, const ClimbRule& rule, const SearchOptions& options,
                 std::list<PlanClimb>& climbs) {
    states_ += found.states;
    late_ = late_ || !found.complete;
    const plan::Stage& first = found.plan.stages.front();
    if (first.recompute || first.zero > 0) return;  // it belongs to another space
    const PlanJudge judge = [this, &options](const plan::Plan& plan, core::Seconds to_beat) {
      return by_evaluation(options) ? evaluated_to_win(options, plan, to_beat)
                                    : score::estimate(problem_, plan).iteration;
    };
    PlanClimb climb(problem_, options, std::move(found.plan), rule.in_flight, judge, stop_);
    if (std::ranges::count(climbs, climb.start(), &PlanClimb::start) == 0) climbs.push_back(std::move(climb));
  }

  static void leave_hopeless(std::list<PlanClimb>& climbs, core::Seconds most) {
    for (PlanClimb& climb : climbs) {
      climb.go_on(1);
      if (climb.best().complete) most = std::min(most, climb.best().iteration * kHopeless);
    }
    climbs.remove_if([&](const PlanClimb& climb) { return climb.best().iteration > most; });
  }

  /// Ends the slower half after every round; the others continue for kLonger times as long.
  void race(std::list<PlanClimb>& climbs, std::uint64_t most) {
    constexpr std::uint64_t kLonger = 4;
    const auto faster = [](const PlanClimb& a, const PlanClimb& b) {
      return a.best().iteration < b.best().iteration;
    };
    const auto keep = [&](std::size_t count) {
      climbs.sort(faster);
      for (; climbs.size() > count; climbs.pop_back()) states_ += climbs.back().best().judged;
    };
    std::vector<std::uint64_t> rounds = {most};  // cumulative evaluations, last round first
    for (std::size_t left = climbs.size(); left > 1; left = (left + 1) / 2)
      rounds.push_back(rounds.back() / kLonger);
    for (; !rounds.empty(); rounds.pop_back()) {
      for (PlanClimb& climb : climbs) {
        climb.go_on(rounds.back());
        late_ = late_ || !climb.best().complete;
      }
      keep((climbs.size() + 1) / 2);
      if (late_) break;
    }
    keep(1);
    if (climbs.empty()) return;
    const ClimbResult& top = climbs.front().best();
    states_ += top.judged;
    if (!best_ || top.iteration < best_->iteration) best_ = top;
  }

  const cost::Problem& problem_;
  core::StopToken stop_;
  std::optional<ClimbResult> best_;
  std::uint64_t states_ = 0;
  bool late_ = false;
  std::optional<core::Infeasible> obstacle_;
};

}  // namespace

const std::vector<PlannerOption>& climb_options() {
  static const std::vector<PlannerOption> options = [] {
    std::vector<PlannerOption> out = sweep_options();
    std::erase_if(
        out, [](const PlannerOption& option) { return option.name == "max_replicas"; });  // climbs change it
    out.push_back(number(
        "evaluations", 2000, 0, std::int64_t{1} << 30,
        "plans to evaluate on the longest climb; a pinned micro-batch gets one part of as many as there "
        "are sizes; 0: the best of the starting plans"));
    return out;
  }();
  return options;
}

// An addition of ours. Covers plans outside the series-parallel space and the row: stages with pieces of
// several branches, any number of replicas, and stages on the devices that suit their messages. Found step by
// step from the best plan of each space, and from data parallelism (climb.hpp). Half of the climbs end after
// every round (successive halving, Jamieson, Talwalkar, AISTATS 2016), the last one after `evaluations`.
SearchResult graphpipe_climb(const cost::Problem& problem, const SearchOptions& options,
                             core::StopToken stop) {
  const OwnValues own("graphpipe_climb", climb_options(), options.own);
  const auto most = static_cast<std::uint64_t>(own.number("evaluations"));
  const std::uint64_t share = most / free_sizes(problem).size();  // per size
  const bool pinned = options.micro_batch || options.pipeline_micro_batch;
  GraphpipeClimber climber(problem, stop);
  for (const ClimbRule& rule : kRules) {
    if (own.word("in_flight") != rule.name && own.word("in_flight") != "either") continue;
    climber.climb_by(rule, options, pinned ? share : most);
    if (pinned || free_flows(own.word(kChooseBy)) == FreeFlows::paper) continue;
    // A free climb may end worse than one with a fixed size, so each size is also climbed as if fixed.
    SearchOptions at_size = options;
    for (const std::int64_t size : pinnable_sizes(problem, options)) {
      if (climber.late()) break;
      at_size.micro_batch = size;
      climber.climb_by(rule, at_size, share);
    }
  }
  return climber.result(options.give_up);
}

}  // namespace penstock::planners
