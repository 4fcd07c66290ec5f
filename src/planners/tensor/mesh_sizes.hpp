#pragma once
// Sizes of context and expert groups that can divide a model.

#include <cstdint>
#include <vector>

#include "penstock/planners/planner.hpp"

namespace penstock::planners {

/// Context groups per replica, up to `most`: powers of two for which all operators divide their tokens.
/// Unlike tensor-parallel groups, they may span nodes.
std::vector<int> context_sizes(const cost::Problem& problem, const SearchOptions& options, std::int64_t most);

/// Devices that divide the experts of every mixture, up to `most`: powers of two; only 1 without a mixture.
std::vector<int> expert_sizes(const cost::Problem& problem, const SearchOptions& options, std::int64_t most);

}  // namespace penstock::planners
