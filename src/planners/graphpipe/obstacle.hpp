#pragma once
// Why no plan fits, in words a user can act on.

#include <optional>
#include <string>

#include "graphpipe/bottleneck_search.hpp"

namespace penstock::planners {

/// Names the operator that fits on no device even alone; else the stage that keeps the thriftiest partition
/// (the one that would fit with the least extra memory) from fitting. Says what is needed, there, and
/// missing. `in_row`: stages hold what a forced order makes them hold. Nothing when memory is not the
/// obstacle: no partition uses that many devices.
std::optional<std::string> obstacle(const cost::Problem& problem, const Units& units,
                                    const Arrangement& arrangement, const Choices& choices, bool in_row,
                                    core::StopToken stop);

}  // namespace penstock::planners
