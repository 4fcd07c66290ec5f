#pragma once
// How long an iteration goes on after a task has begun, at least.

#include <cstdint>
#include <vector>

#include "tasks/task_graph.hpp"

namespace penstock::sim {

/// [task] picoseconds from its start to the end of all that waits for it, where no transfer shares a link:
/// the longest way through the graph (critical path method, Kelley, Operations Research 9, 1961). Empty where
/// the order waits for itself, and where devices or links may become faster than durations say.
std::vector<std::int64_t> least_left(const TaskGraph& graph);

}  // namespace penstock::sim
