#pragma once
// How many stages' activations every rank of a timed schedule holds at most.

#include <vector>

#include "penstock/sim/schedule_times.hpp"

namespace penstock::sim {

/// The counting rule stands at ScheduleTimes::peak_live.
std::vector<int> peak_live(const schedule::Schedule& schedule,
                           const std::vector<std::vector<Interval>>& times);

}  // namespace penstock::sim
