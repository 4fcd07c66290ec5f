#pragma once
// Sizes of context and expert groups that a model can be divided over.

#include <cstdint>
#include <vector>

#include "penstock/planners/planner.hpp"

namespace penstock::planners {

/// Context groups of a replica, up to `most`: powers of two, as far as all operators divide their tokens.
/// Unlike a tensor-parallel group they may lie across nodes.
std::vector<int> context_sizes(const cost::Problem& problem, const SearchOptions& options, std::int64_t most);

/// Devices that divide the experts of every mixture, up to `most`: powers of two; none but 1 without a
/// mixture.
std::vector<int> expert_sizes(const cost::Problem& problem, const SearchOptions& options, std::int64_t most);

}  // namespace penstock::planners
