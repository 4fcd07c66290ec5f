#include "aceso.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include "alleviation.hpp"
#include "balanced_cuts.hpp"
#include "families.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/plan/plan_file.hpp"
#include "penstock/plan/stage_graph.hpp"
#include "penstock/score/estimate.hpp"
#include "penstock/score/validate.hpp"
#include "row_plan.hpp"

namespace penstock::planners {
namespace {

using core::Bytes;
using plan::Plan;

constexpr int kRounds = 64, kHops = 2;
constexpr std::size_t kWorstStages = 2, kBeam = 3;

/// Memory first, then time.
struct Judged {
  Plan plan;
  Bytes missing;       ///< summed over stages
  double seconds = 0;  ///< of an iteration
  bool beats(const Judged& other) const {
    return missing != other.missing ? missing < other.missing : seconds < other.seconds;
  }
};

class Aceso {
 public:
  Aceso(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop)
      : problem_(problem), options_(options), stop_(stop), units_(planning_units(problem.graph)) {}

  SearchResult run(Plan start) {
    Judged best = judged(std::move(start));
    seen_.insert(plan::to_yaml(problem_.graph, best.plan));
    for (int round = 0; round < kRounds; ++round) {
      auto better = improve(best, best, kHops);
      if (!better) break;
      best = std::move(*better);
    }
    if (best.missing.value() > 0) fail_on(problem_, best.plan);
    const double bottleneck = estimate(best.plan).bottleneck;
    return {std::move(best.plan), bottleneck, seen_.size()};
  }

 private:
  score::Estimate estimate(const Plan& plan) const {
    return score::estimate(problem_, plan, plan::StageGraph(problem_.graph, plan));
  }

  std::vector<Bytes> missing(const Plan& plan) const {
    std::vector<Bytes> out;
    for (std::size_t s = 0; s < plan.stages.size(); ++s) {
      const Bytes need = plan::total(score::stage_memory(problem_, plan, core::StageId(s)));
      Bytes most(0);
      for (core::DeviceId d : plan.stages[s].devices)
        most = std::max(most, need - problem_.cluster.type(d).memory);
      out.push_back(most);
    }
    return out;
  }

  Judged judged(Plan plan) const {
    Bytes lacks(0);
    for (Bytes bytes : missing(plan)) lacks += bytes;
    const double seconds = judged_seconds(problem_, options_, plan);
    return {std::move(plan), lacks, seconds};
  }

  /// Stages that miss most memory; of equals those that take most time.
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

  /// All that one primitive leads to and was not met before, best first.
  std::vector<Judged> next(const Plan& plan) {
    std::vector<Plan> fresh;
    for (std::size_t s : worst(plan))
      for (Plan& changed : alleviations(problem_, options_, units_, plan, s))
        if (seen_.insert(plan::to_yaml(problem_.graph, changed)).second) fresh.push_back(std::move(changed));
    std::vector<Judged> out(fresh.size());
    core::parallel_for(fresh.size(), [&](std::size_t i) {
      stop_.check();
      out[i] = judged(std::move(fresh[i]));
    });
    std::stable_sort(out.begin(), out.end(), [](const Judged& a, const Judged& b) { return a.beats(b); });
    return out;
  }

  std::optional<Judged> improve(const Judged& from, const Judged& best, int hops) {
    auto found = next(from.plan);
    if (found.empty()) return std::nullopt;
    if (found.front().beats(best)) return std::move(found.front());
    for (std::size_t i = 0; hops > 1 && i < std::min(kBeam, found.size()); ++i)
      if (auto better = improve(found[i], best, hops - 1)) return better;
    return std::nullopt;
  }

  const cost::Problem& problem_;
  const SearchOptions& options_;
  core::StopToken stop_;
  Units units_;
  std::set<std::string> seen_;  ///< plans as text
};

/// Balanced stages of `replicas` devices: the fastest that fits, else those that need least memory, which
/// need not fit.
std::optional<Plan> balanced(const cost::Problem& problem, const SearchOptions& options, const Units& units,
                             int replicas, core::StopToken stop) {
  const std::size_t stages = problem.cluster.size() / static_cast<std::size_t>(replicas);
  const std::size_t size = units.operators.size();
  if (stages > size) return std::nullopt;
  std::vector<EvenRow> rows;
  for (std::int64_t micro_batch : sizes_for(problem, options, replicas))
    for (bool recompute : {true, false}) {
      const RunTimes times(problem, units, micro_batch, replicas, recompute);
      rows.push_back({BalancedCuts(stages, size, times).ends(stages, size), replicas, micro_batch, options.k,
                      "1f1b", recompute});
    }
  if (rows.empty()) return std::nullopt;
  try {
    return fastest(problem, options, units, rows, "", stop).plan;
  } catch (const core::Infeasible&) {
    return row_plan(problem, units, rows.front());
  }
}

/// spp's plan, and a balanced one for every stage count with equally many devices in each.
std::vector<Plan> starts(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop) {
  std::vector<Plan> out;
  try {
    out.push_back(spp(problem, options, stop).plan);
  } catch (const core::Infeasible&) {  // a plan that does not fit may become one that does
  }
  const Units units = planning_units(problem.graph);
  for (int replicas : rank_sizes(problem, options))
    if (auto start = balanced(problem, options, units, replicas, stop)) out.push_back(std::move(*start));
  return out;
}

}  // namespace

SearchResult alleviate(const cost::Problem& problem, const SearchOptions& options, Plan start,
                       core::StopToken stop) {
  core::require(start.schedule == "1f1b", "only 1f1b plans are alleviated");
  return Aceso(problem, options, stop).run(std::move(start));
}

SearchResult aceso(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop) {
  std::optional<SearchResult> best;
  std::uint64_t states = 0;
  std::string obstacle =
      fmt::format("no row of stages has equally many of {} devices in each, and a sample for each",
                  problem.cluster.size());
  const auto seconds = [&](const SearchResult& found) {
    return judged_seconds(problem, options, found.plan);
  };
  for (Plan& start : starts(problem, options, stop)) {
    try {
      SearchResult found = alleviate(problem, options, std::move(start), stop);
      states += found.states;
      if (!best || seconds(found) < seconds(*best)) best = std::move(found);
    } catch (const core::Infeasible& e) {
      obstacle = e.what();
    }
  }
  if (!best) throw core::Infeasible(obstacle);
  best->states = states;
  return std::move(*best);
}

}  // namespace penstock::planners
