#pragma once
// evaluate() without the lower bound over any plan, which takes longer than a simulation. Private to the room.

#include "penstock/experiment/cell.hpp"

namespace penstock::experiment {

CellOutcome evaluated_without_bound(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                                    report::CellResult row, const sim::SimulationOptions& simulation);

}  // namespace penstock::experiment
