#pragma once
// Task graph with one resource infinitely fast.

#include "penstock/sim/explain.hpp"
#include "tasks/task_graph.hpp"

namespace penstock::sim {

/// Returns the tasks with the resource infinitely fast, as defined at ResourceShare::without.
TaskGraph without(const TaskGraph& graph, const LimitingResource& resource);

}  // namespace penstock::sim
