#pragma once
// The primitives of Aceso: small changes of a plan at one stage.

#include <vector>

#include "penstock/planners/planner.hpp"
#include "units.hpp"

namespace penstock::planners {

/// Every plan that one primitive at stage `s` leads to, structurally valid, in-flight counts derived; memory
/// unchecked. aceso.hpp lists the primitives. Throws as `stop` does.
std::vector<plan::Plan> alleviations(const cost::Problem& problem, const SearchOptions& options,
                                     const Units& units, const plan::Plan& plan, std::size_t s,
                                     core::StopToken stop = {});

}  // namespace penstock::planners
