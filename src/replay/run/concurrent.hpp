#pragma once
// Runs a program with threads in parallel.

#include <vector>

#include "penstock/replay/replay.hpp"
#include "run/record.hpp"

namespace penstock::replay {

/// Runs a thread per device, each on its own core while there are enough (without `cores`, on any). Threads
/// that carry messages (one per receiver) and that sum gradients (one per device) are not pinned. A message
/// moves once it is sent and its buffer is free; with `throttle` it takes at least its fair share of the
/// cluster's links (flows.hpp). Gradients are summed around a ring over these links, while later passes run;
/// the stage's update waits for that. Of several processes each runs its own devices, and process 0 has all
/// records.
ReplayRecords run_concurrent(const DevicePrograms& program, const cost::Problem& problem,
                             const plan::Plan& plan, const std::vector<Worker*>& workers,
                             const ReplayOptions& options, const std::vector<int>& cores);

}  // namespace penstock::replay
