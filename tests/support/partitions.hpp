#pragma once
// Every way to cut a small graph into stages, written down from the definition of each plan space.

#include <cstdint>
#include <set>
#include <vector>

#include "penstock/graph/op_graph.hpp"

namespace penstock::support {

/// Units that planners move as one: an operator and the `input` operators it reads first. Numbered in
/// topological order, the order of their main operators.
struct PlanningUnits {
  std::vector<std::vector<core::OpId>> operators;  ///< [unit]; ascending
  graph::Dag dag;                                  ///< over units
};
PlanningUnits planning_units(const graph::OpGraph& graph);

using UnitSet = std::uint32_t;           ///< bit u: unit u belongs to the stage
using Partition = std::vector<UnitSet>;  ///< stages, producers first
using Partitions = std::set<Partition>;  ///< each partition once

/// The stages with producers first, the smallest ready one in front; empty when they wait for each other.
Partition in_order(const graph::Dag& units, std::vector<UnitSet> stages);

/// The space of `graphpipe` (src/planners/README.md). The order of the units must be series-parallel.
/// A run between two opened blocks may join a stage on either side, or one on each side, which then are one.
/// `rejoined`: a run behind a block may join the last run of a branch even where that run has itself joined a
/// block inside the branch. The planner leaves such stages out; the mirror image, in front of a block, is
/// always allowed.
Partitions series_parallel_partitions(const graph::Dag& units, bool rejoined = false);
/// The space of `spp`: consecutive runs of units 0, 1, 2 ...
Partitions row_partitions(std::size_t units);
/// Every partition whose stages can be ordered; at most eight units or so.
Partitions all_partitions(const graph::Dag& units);

}  // namespace penstock::support
