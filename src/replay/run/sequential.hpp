#pragma once
// Runs a program one task at a time, and combines the times as if devices ran in parallel.

#include <functional>

#include "penstock/replay/replay.hpp"
#include "run/record.hpp"

namespace penstock::replay {

/// Returns seconds since a fixed moment.
using Stopwatch = std::function<core::Seconds()>;
core::Seconds steady_time();

/// Uses a separate clock in which only instructions, links and gradient sums take time. A pass or update
/// takes the time measured by `stopwatch`; a message takes its flow over the cluster's links (flows.hpp). A
/// sum takes its closed form (cost::time of cost::reductions or shared_reduction), and starts when all
/// replicas and the rank's sum before it are done. Instructions run in the order of their starts on that
/// clock, so that memory changes as it would; messages and sums move data untimed. Devices of a
/// tensor-parallel group start each instruction together. One at a time runs to its next collective, which
/// begins when the last one arrives and takes its closed form (cost::GroupTimes). Differs from parallel
/// devices: there is no competition for memory bandwidth or for a host; cluster::DeviceType::overlap_slowdown
/// is not applied.
ReplayRecords run_sequential(const DevicePrograms& program, const cost::Problem& problem,
                             const plan::Plan& plan, const std::vector<Worker*>& workers,
                             const ReplayOptions& options, const Stopwatch& stopwatch = steady_time);

}  // namespace penstock::replay
