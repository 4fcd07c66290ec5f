#include "baselines/autopipe.hpp"

#include <deque>
#include <set>

#include "families.hpp"
#include "sweep.hpp"

namespace penstock::planners {
namespace {

using Ends = std::vector<std::size_t>;

std::size_t begin_of(const Ends& ends, std::size_t stage) {
  return stage == 0 ? 0 : ends[stage - 1];
}

/// Cuts the first `stages` stages again so that they end at `end`.
Ends recut(Ends ends, const BalancedCuts& cuts, std::size_t stages, std::size_t end) {
  const Ends prefix = cuts.ends(stages, end);
  std::copy(prefix.begin(), prefix.end(), ends.begin());
  return ends;
}

/// Moves one unit off the critical stage: its first unit to the stages before, or its last one to the stage
/// behind.
std::vector<Ends> moves(const Ends& ends, const BalancedCuts& cuts, std::size_t critical) {
  std::vector<Ends> out;
  const std::size_t begin = begin_of(ends, critical), end = ends[critical];
  if (end - begin > 1 && critical > 0) out.push_back(recut(ends, cuts, critical, begin + 1));
  if (end - 1 > critical && critical + 1 < ends.size())
    out.push_back(recut(ends, cuts, critical + 1, end - 1));
  return out;
}

}  // namespace

CriticalPath critical_path(const Ends& ends, const RunCost& time, std::int64_t micro_batches) {
  CriticalPath path;
  double fill = 0;  // forward and backward of the stages before
  for (std::size_t s = 0; s < ends.size(); ++s) {
    const double own = time(s, begin_of(ends, s), ends[s]);
    const double through = fill + static_cast<double>(micro_batches) * own;
    if (through >= path.seconds) path = {through, s};
    fill += own;
  }
  return path;
}

Ends move_critical(std::size_t stages, std::size_t units, const RunCost& time, std::int64_t micro_batches,
                   core::StopToken stop) {
  constexpr std::size_t kMostCuts = 4096;
  const BalancedCuts cuts(stages, units, time, stop);
  Ends best = cuts.ends(stages, units);
  double shortest = critical_path(best, time, micro_batches).seconds;
  std::set<Ends> seen = {best};
  std::deque<Ends> queue = {best};
  while (!queue.empty() && seen.size() < kMostCuts) {
    stop.check();
    const Ends here = std::move(queue.front());
    queue.pop_front();
    for (Ends& next : moves(here, cuts, critical_path(here, time, micro_batches).stage)) {
      if (!seen.insert(next).second) continue;
      const double seconds = critical_path(next, time, micro_batches).seconds;
      if (seconds < shortest) {
        shortest = seconds;
        best = next;
      }
      queue.push_back(std::move(next));
    }
  }
  return best;
}

SearchResult autopipe(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop) {
  if (options.k < 1) throw core::BadInput("k must be at least 1");
  refuse_size_per_stage(options, "autopipe");
  const UnitGraph units = planning_units(problem.graph);
  const std::size_t size = units.operators.size();
  std::vector<EvenRow> rows;
  for (int replicas : rank_sizes(problem, options)) {
    const std::size_t stages = problem.cluster.size() / static_cast<std::size_t>(replicas);
    if (stages > size) continue;
    for (std::int64_t micro_batch : shared_sizes(problem, options, replicas))
      rows.push_back({stages, replicas, micro_batch, options.k, "1f1b"});
  }
  const auto cut = [&](const EvenRow& row) {
    const RunTimes times(problem, units, row.micro_batch, row.replicas, false);
    return move_critical(row.stages, size, times, problem.training.mini_batch / row.micro_batch, stop);
  };
  return fastest(problem, options, units, rows, cut, no_even_row(problem, size), stop);
}

}  // namespace penstock::planners
