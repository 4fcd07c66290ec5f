#pragma once
// The slow twin of fair sharing. It computes everything again at every event: no component, no heap, time
// without a grid.

#include "support/flow_set.hpp"

namespace penstock::support {

/// Rates of flows that all move, by the definition: fill all links at once until one is full, stop its flows,
/// go on.
std::vector<long double> fair_rates(const std::vector<double>& capacity,
                                    const std::vector<std::vector<std::uint32_t>>& routes);

/// When each flow ends, ps.
std::vector<long double> fair_ends(const FlowSet& set);

/// Ends of flows by a clock of whole picoseconds, or -1: never. A flow ends at the first picosecond by which
/// its bytes have arrived, except for bytes that flow in a thousandth of one. It ends at least one picosecond
/// after its start.
std::vector<std::int64_t> fair_ends_by_clock(const FlowSet& set);

}  // namespace penstock::support
