#pragma once
// Order in which flows are searched, and flows that may be skipped.

#include <cstddef>
#include <vector>

#include "micro_batches.hpp"

namespace penstock::planners {

/// Order of flows, as indices by round. Flows of one round may run in parallel; the next round may skip flows
/// that cannot beat the plans of earlier rounds. The last flow comes first, because it is the most efficient.
/// Next come flows that leave replica counts to the planner; then the others, fewest stages first, because
/// these searches are the shortest.
std::vector<std::vector<std::size_t>> rounds(const std::vector<PipelineFlow>& flows);

/// True if a flow of equal replica counts may be skipped: all its plans are slower than `fastest` by
/// simulation, or excluded by SearchOptions::give_up.
bool hopeless(const cost::Problem& problem, const SearchOptions& options, const PipelineFlow& flow,
              core::Seconds fastest);

}  // namespace penstock::planners
