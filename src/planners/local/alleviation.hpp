#pragma once
// Primitives of Aceso: small changes of a plan at one stage.

#include <vector>

#include "penstock/planners/planner.hpp"
#include "units.hpp"

namespace penstock::planners {

/// Returns every plan that one primitive at stage `s` leads to: structurally valid, with in-flight counts,
/// memory not checked. aceso.hpp lists the primitives. Throws like `stop`.
std::vector<plan::Plan> alleviations(const cost::Problem& problem, const SearchOptions& options,
                                     const UnitGraph& units, const plan::Plan& plan, std::size_t s,
                                     core::StopToken stop = {});

}  // namespace penstock::planners
