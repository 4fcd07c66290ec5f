#include "penstock/sim/repeat.hpp"

#include <algorithm>
#include <numeric>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "tasks/prepare.hpp"

namespace penstock::sim {
namespace {

/// Number of the `count` sorted values that are not above the quantile.
std::size_t nearest_rank(std::size_t count, std::size_t percent) {
  return (count * percent + 99) / 100;
}

}  // namespace

std::vector<core::Picoseconds> repeat(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                                      const SimulationOptions& options, std::size_t runs,
                                      core::StopToken stop) {
  std::vector<core::Picoseconds> times(runs);
  const auto filled = filled_times(problem, scheduled.plan, options);
  core::parallel_for(runs, [&](std::size_t run) {
    stop.check();
    SimulationOptions own = options;
    own.seed += run;
    const IterationTasks iteration = prepare(problem, scheduled, own, filled);
    times[run] = time_of(scheduled.plan, iteration, own);
  });
  return times;
}

core::Picoseconds quantile_against(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                                   const SimulationOptions& options, std::size_t runs, std::size_t percent,
                                   core::Picoseconds to_beat) {
  core::require(runs > 0, "a quantile is of something");
  const std::size_t allowed = runs - nearest_rank(runs, percent);
  const auto filled = filled_times(problem, scheduled.plan, options);
  std::vector<core::Picoseconds> times;
  for (std::size_t run = 0, above = 0; run < runs; ++run) {
    SimulationOptions own = options;
    own.seed += run;
    times.push_back(time_against(scheduled.plan, prepare(problem, scheduled, own, filled), own, to_beat));
    // More values are above than the quantile allows, so the quantile is above, too.
    if (times.back() > to_beat && ++above > allowed) return times.back();
  }
  std::ranges::sort(times);
  return times[times.size() - allowed - 1];
}

ValueSpread spread(std::vector<double> values) {
  core::require(!values.empty(), "a spread is of something");
  std::sort(values.begin(), values.end());
  const auto at = [&](std::size_t percent) { return values[nearest_rank(values.size(), percent) - 1]; };
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return {values.front(),
          at(50),
          at(90),
          at(95),
          at(99),
          values.back(),
          sum / static_cast<double>(values.size())};
}

}  // namespace penstock::sim
