#pragma once
// Who shares a node with whom, and what their passes do there.

#include "tasks/build.hpp"

namespace penstock::sim {

/// Fills TaskGraph::crowd where the costs know what devices of a node do to each other and two that share one
/// work. All pieces of a pass do what the whole does. Throws BadInput where tasks that slow each other as
/// much as they can would outlast the clock.
void add_crowding(const cost::Problem& problem, const plan::Plan& plan, Iteration& iteration);

}  // namespace penstock::sim
