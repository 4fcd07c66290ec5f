#pragma once
// Planners that the calling program added to the catalogue.

#include <string_view>

#include "penstock/planners/planner.hpp"

namespace penstock::planners {

/// Returns null if no planner of this name was added. The pointer stays valid.
const PlannerInfo* find_added(std::string_view name);

}  // namespace penstock::planners
