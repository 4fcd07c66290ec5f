#pragma once
// Tensor-parallel groups: of which sizes, and where they stand.

#include <vector>

#include "penstock/planners/planner.hpp"

namespace penstock::planners {

/// Powers of two up to the devices of the fullest node, or to options.max_tensor_parallel if that is less;
/// ascending. Throws BadInput when that is below 1.
std::vector<int> tensor_degrees(const cluster::Cluster& cluster, const SearchOptions& options);

/// Groups whose devices are on several nodes.
int split_groups(const cluster::Cluster& cluster, const plan::Plan& plan);

/// Where groups are split, tries two other orders in which stages are given consecutive devices, and keeps
/// the one that splits fewest: the first stage whose groups come to stand in one node each goes first; or the
/// largest groups do.
void unite_groups(const cluster::Cluster& cluster, plan::Plan& plan);

}  // namespace penstock::planners
