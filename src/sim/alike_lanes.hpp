#pragma once
// Lanes of a plan's groups, all alike, of which one stands for all.

#include <optional>

#include "penstock/cost/problem.hpp"
#include "penstock/plan/stage_graph.hpp"
#include "penstock/sim/options.hpp"

namespace penstock::sim {

/// The plan, or a copy of it (alike_copies.hpp), with the devices of the first lane of every replica alone,
/// as if these were its group. Devices of a group begin and end passes together, and part i of a message goes
/// from member i of one group to member i of the next, each counted around (program::for_each_part). So lanes
/// are runs of neighbours where all groups have one size; else of so many lanes each has every so-manyth
/// member. The first one's tasks take place at the same times as in the whole plan, as long as they take what
/// they take there:
///  - members of a group have equal shares, and lanes as many of them;
///  - lanes have devices, and links that they send over, of their own, and are alike (Correspondence), and so
///    are lanes within the first of them: devices of a node, of several nodes;
///  - what a stage sends of a sample falls into equal parts.
/// None where there is one lane, nor for what one_copy leaves whole, nor where so few tasks are left to spare
/// that looking takes longer.
std::optional<plan::Plan> one_lane(const cost::Problem& problem, const plan::StageGraph& stages,
                                   const plan::Plan& plan, const SimulationOptions& options);

}  // namespace penstock::sim
