#pragma once
// A program run one task at a time, its times put together as if devices ran side by side.

#include <functional>

#include "penstock/replay/replay.hpp"
#include "run/record.hpp"

namespace penstock::replay {

/// Seconds since some moment.
using Stopwatch = std::function<core::Seconds()>;
core::Seconds steady_time();

/// Follows a clock of its own in which only instructions, links and sums of gradients take time: a pass or
/// update as long as `stopwatch` says it ran, a message its flow over the cluster's links (flows.hpp), a sum
/// its closed form (cost::time of cost::reductions or shared_reduction), started when all replicas and the
/// rank's sum before it are done. Instructions are run for real in the order in which they start on that
/// clock, so that memory comes and goes as it would; messages and sums move for real, untimed. So do devices
/// of a tensor-parallel group, which start each instruction together; one at a time runs to its next
/// collective, which begins when the last one comes to it and takes its closed form (cost::GroupTimes).
/// Differs from devices side by side in that nobody competes for memory bandwidth, nor for a host;
/// cluster::DeviceType::overlap_slowdown is not applied.
Records run_sequential(const DevicePrograms& program, const cost::Problem& problem, const plan::Plan& plan,
                       const std::vector<Worker*>& workers, const ReplayOptions& options,
                       const Stopwatch& stopwatch = steady_time);

}  // namespace penstock::replay
