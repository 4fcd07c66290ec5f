#pragma once
// The event loop: runs a task graph to completion.

#include <vector>

#include "task_graph.hpp"

namespace penstock::sim {

struct Times {
  std::vector<std::int64_t> start;  ///< [task], ps
  std::vector<std::int64_t> end;
  std::int64_t makespan = 0;
};

/// Compute tasks start when their predecessors have ended (the device's own order is among the predecessors).
/// A transfer starts when its predecessors have ended and every link of its route is free, and holds them all until it
/// ends: each link serves one transfer at a time. Among transfers that could take a link the one that became ready
/// first goes first; one that still waits for another link does not keep it idle.
/// Ties: events at one moment are handled in task order, and the tasks an event releases in edge order.
/// Throws an invalid-plan error naming a waiting task when the order deadlocks.
Times run(const TaskGraph& graph);

}  // namespace penstock::sim
