#pragma once
// Reason why no plan fits, in words that suggest an action.

#include <optional>
#include <string>

#include "graphpipe/bottleneck_search.hpp"

namespace penstock::planners {

/// Names the operator that fits on no device even without others. Otherwise names the stage that does not fit
/// in the partition with the smallest additional memory. States what is needed, available and missing.
/// `in_row`: stages hold what a forced order requires. Returns nothing if memory is not the obstacle: no
/// partition uses that many devices.
std::optional<std::string> obstacle(const cost::Problem& problem, const UnitGraph& units,
                                    const UnitArrangement& arrangement, const StageChoices& choices,
                                    bool in_row, core::StopToken stop);

}  // namespace penstock::planners
