#pragma once
// Devices that share a node, and the resources that their passes use.

#include "tasks/build.hpp"

namespace penstock::sim {

/// Fills TaskGraph::crowd if costs have data on how devices of a node slow each other, and two that share a
/// node work. All pieces of a pass have the uses of the whole. Throws BadInput if tasks at their maximum
/// slow-down would exceed the clock.
void add_crowding(const cost::Problem& problem, const plan::Plan& plan, IterationTasks& iteration);

}  // namespace penstock::sim
