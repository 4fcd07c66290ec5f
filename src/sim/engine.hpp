#pragma once
// The event loop: runs a task graph to completion.

#include "network/network.hpp"
#include "penstock/core/stop.hpp"

namespace penstock::sim {

/// Runs the graph. Compute tasks start when their predecessors have ended (which include the device's
/// previous task); transfers then go to the network. With `record` false only the makespan is set. Ties:
/// events at one moment are handled in task order, and released tasks in edge order. Throws an invalid-plan
/// error naming the tasks that wait for each other if the order deadlocks; passes on exceptions of `stop`.
TaskTimes run(const TaskGraph& graph, NetworkModel network, bool record = true, core::StopToken stop = {});

/// Returns the makespan, or a lower bound on it above `to_beat`. The run ends once the remaining time
/// (least_left.hpp) exceeds the budget, often before it begins.
std::int64_t makespan_against(const TaskGraph& graph, NetworkModel network, std::int64_t to_beat,
                              core::StopToken stop);

}  // namespace penstock::sim
