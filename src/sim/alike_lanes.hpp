#pragma once
// Lanes of a plan's tensor-parallel groups that are equal, so that one can represent all.

#include <optional>

#include "penstock/cost/problem.hpp"
#include "penstock/plan/stage_graph.hpp"
#include "penstock/sim/options.hpp"

namespace penstock::sim {

/// Returns the plan, or a copy of it (alike_copies.hpp), with only the devices of the first lane of every
/// replica, as if these were its group. Devices of a group begin and end passes together. Part i of a message
/// goes from member i of one group to member i of the next, both modulo the group size
/// (program::for_each_part). So lanes are runs of neighbours if all groups have one size; otherwise each of n
/// lanes has every n-th member. Tasks of the first lane run at the same times as in the whole plan, provided
/// they keep their durations. Conditions:
///  - members of a group have equal shares, and lanes equally many members;
///  - lanes have their own devices and links, and are equal (PointCorrespondence); so are lanes within the first
///    lane: devices of a node, of several nodes;
///  - messages of a stage divide into equal parts.
/// Returns nothing if there is one lane, if one_copy would refuse the plan, or if so few tasks would be saved
/// that the check takes longer.
std::optional<plan::Plan> one_lane(const cost::Problem& problem, const plan::StageGraph& stages,
                                   const plan::Plan& plan, const SimulationOptions& options);

}  // namespace penstock::sim
