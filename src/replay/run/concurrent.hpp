#pragma once
// A program run by threads side by side.

#include <vector>

#include "penstock/replay/replay.hpp"
#include "run/record.hpp"

namespace penstock::replay {

/// A thread per device on a core of its own, as far as they go round (without `cores`, on any); one per
/// receiver that carries messages and one per device that sums gradients have no core of their own. A message
/// moves once it is sent and there is room for it, and, where `throttle`, takes no less than its fair share
/// of the cluster's links allows (flows.hpp). Gradients are summed around a ring over the same links, beside
/// later passes; the stage's update waits for that. Of several processes each runs its own devices, and
/// process 0 has all records.
Records run_concurrent(const DevicePrograms& program, const cost::Problem& problem, const plan::Plan& plan,
                       const std::vector<Worker*>& workers, const ReplayOptions& options,
                       const std::vector<int>& cores);

}  // namespace penstock::replay
