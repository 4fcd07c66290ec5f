#pragma once
// Lower bound on the time from the start of a task to the end of the iteration.

#include <cstdint>
#include <vector>

#include "tasks/task_graph.hpp"

namespace penstock::sim {

/// [task] picoseconds from its start to the end of all that depends on it, if no transfers share links: the
/// longest path through the graph (critical path method, Kelley, Operations Research 9, 1961). Empty if the
/// order has a circle, or if devices or links may become faster than durations state.
std::vector<std::int64_t> least_left(const TaskGraph& graph);

}  // namespace penstock::sim
