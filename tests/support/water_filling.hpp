#pragma once
// The slow twin of fair sharing: everything anew at every event, no component, no heap, time without a grid.

#include "support/flow_set.hpp"

namespace penstock::support {

/// Rates of flows that all move, by the definition: fill all links at once until one is full, stop its flows,
/// go on.
std::vector<long double> fair_rates(const std::vector<double>& capacity,
                                    const std::vector<std::vector<std::uint32_t>>& routes);

/// When each flow ends, ps.
std::vector<long double> fair_ends(const FlowSet& set);

}  // namespace penstock::support
