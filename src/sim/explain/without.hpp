#pragma once
// A world in which one resource is no obstacle.

#include "penstock/sim/explain.hpp"
#include "tasks/task_graph.hpp"

namespace penstock::sim {

/// The same tasks with the resource infinitely fast, as ResourceShare::without says.
TaskGraph without(const TaskGraph& graph, const Resource& resource);

}  // namespace penstock::sim
