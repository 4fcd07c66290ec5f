#pragma once
// The event loop: runs a task graph to completion.

#include "network/network.hpp"
#include "penstock/core/stop.hpp"

namespace penstock::sim {

/// Compute tasks start when their predecessors have ended (the device's own order is among the predecessors);
/// transfers go to the network then. With `record` false only the makespan is filled in. Ties: events at one
/// moment are handled in task order, and the tasks an event releases in edge order. Throws an invalid-plan
/// error naming the tasks that wait for each other when the order deadlocks, and what `stop` throws.
Times run(const TaskGraph& graph, NetworkModel network, bool record = true, core::StopToken stop = {});

/// The makespan, or a time above `to_beat` that it does not fall below: the run ends once more is left
/// (least_left.hpp) than fits; often before it begins.
std::int64_t makespan_against(const TaskGraph& graph, NetworkModel network, std::int64_t to_beat,
                              core::StopToken stop);

}  // namespace penstock::sim
