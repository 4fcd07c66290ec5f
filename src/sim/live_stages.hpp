#pragma once
// [rank] maximum number of stage activations held in a timed schedule.

#include <vector>

#include "penstock/sim/schedule_times.hpp"

namespace penstock::sim {

/// See ScheduleTimes::peak_live for the counting rule.
std::vector<int> peak_live(const schedule::Schedule& schedule,
                           const std::vector<std::vector<TimeInterval>>& times);

}  // namespace penstock::sim
