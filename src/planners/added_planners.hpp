#pragma once
// Planners that the calling program added to those of the catalogue.

#include <string_view>

#include "penstock/planners/planner.hpp"

namespace penstock::planners {

/// Null for a name that nobody added. What it points to stays.
const PlannerInfo* find_added(std::string_view name);

}  // namespace penstock::planners
