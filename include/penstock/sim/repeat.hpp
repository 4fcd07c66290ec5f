#pragma once
// Repeated simulations of one iteration, and their statistics.

#include <vector>

#include "penstock/core/stop.hpp"
#include "penstock/sim/simulate.hpp"

namespace penstock::sim {

/// Iteration times with the seeds options.seed, options.seed + 1, ..., computed in parallel; independent of
/// the number of threads. Throws InterruptedError when stopped.
std::vector<core::Picoseconds> repeat(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                                      const SimulationOptions& options, std::size_t runs,
                                      core::StopToken stop = {});

/// Quantile of the times from `repeat`, by nearest rank. If it is above `to_beat`, returns early with some
/// value above `to_beat`. Runs on one thread; throws like options.stop.
core::Picoseconds quantile_against(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                                   const SimulationOptions& options, std::size_t runs, std::size_t percent,
                                   core::Picoseconds to_beat);

/// Statistics of values in one unit. A quantile is one of the values: the smallest that at least its share of
/// them do not exceed (nearest rank).
struct ValueSpread {
  double min = 0, median = 0, p90 = 0, p95 = 0, p99 = 0, max = 0, mean = 0;
};
ValueSpread spread(std::vector<double> values);  ///< precondition: at least one value

}  // namespace penstock::sim
