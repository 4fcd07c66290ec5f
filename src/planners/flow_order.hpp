#pragma once
// In which order flows are searched, and which of them need not be.

#include <cstddef>
#include <vector>

#include "micro_batches.hpp"

namespace penstock::planners {

/// Order in which flows are searched, as indices: all of one round may run side by side, and the next round
/// may leave out what cannot beat the plans of the earlier ones. The last flow first, since it is the most
/// efficient; then flows that leave replicas to the planner; then the others, the fewest stages first, since
/// these are the shortest searches.
std::vector<std::vector<std::size_t>> rounds(const std::vector<Flow>& flows);

/// Whether a flow of equal replicas need not be searched: all its plans are slower than `fastest` by
/// simulation, or of no use by SearchOptions::give_up.
bool hopeless(const cost::Problem& problem, const SearchOptions& options, const Flow& flow,
              core::Seconds fastest);

}  // namespace penstock::planners
