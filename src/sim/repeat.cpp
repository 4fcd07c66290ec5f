#include "penstock/sim/repeat.hpp"

#include <algorithm>
#include <numeric>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "tasks/prepare.hpp"

namespace penstock::sim {

std::vector<core::Picoseconds> repeat(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                                      const SimulationOptions& options, std::size_t runs,
                                      core::StopToken stop) {
  std::vector<core::Picoseconds> times(runs);
  const auto filled = filled_times(problem, scheduled.plan, options);
  core::parallel_for(runs, [&](std::size_t run) {
    stop.check();
    SimulationOptions own = options;
    own.seed += run;
    const Iteration iteration = prepare(problem, scheduled, own, filled);
    times[run] = time_of(scheduled.plan, iteration, own);
  });
  return times;
}

Spread spread(std::vector<double> values) {
  core::require(!values.empty(), "a spread is of something");
  std::sort(values.begin(), values.end());
  const auto at = [&](std::size_t percent) { return values[(values.size() * percent + 99) / 100 - 1]; };
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return {values.front(), at(50), at(90), at(99), values.back(), sum / static_cast<double>(values.size())};
}

}  // namespace penstock::sim
