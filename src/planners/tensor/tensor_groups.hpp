#pragma once
// Tensor-parallel groups: sizes and placement.

#include <vector>

#include "penstock/planners/planner.hpp"

namespace penstock::planners {

/// Powers of two up to the devices of the fullest node, or to options.max_tensor_parallel if that is less;
/// ascending. Throws BadInput if that is below 1.
std::vector<int> tensor_degrees(const cluster::Cluster& cluster, const SearchOptions& options);

/// Number of groups whose devices are on several nodes.
int split_groups(const cluster::Cluster& cluster, const plan::Plan& plan);

/// If groups are split, tries two other orders of assigning consecutive devices to stages, and keeps the one
/// with the fewest split groups. Either the first stage whose groups then fit in one node each goes first, or
/// the largest groups do.
void unite_groups(const cluster::Cluster& cluster, plan::Plan& plan);

}  // namespace penstock::planners
