#pragma once
// Enumeration of all partitions of a small graph into stages.

#include <cstdint>
#include <functional>
#include <vector>

#include "penstock/core/stop.hpp"
#include "penstock/graph/dag.hpp"

namespace penstock::planners {

using UnitSet = std::uint32_t;  ///< bit u: unit u belongs to the stage
/// Stages in order, producers first; among ready stages, the one with the smallest first unit comes first.
using StagePartition = std::vector<UnitSet>;
using PartitionVisitor = std::function<void(const StagePartition&)>;

/// Visits each partition of the units into at most `most_stages` stages without circular dependencies, once.
/// At most 32 units; practical up to 12 (4 million partitions before any is skipped). Throws like `stop`.
void for_each_stage_partition(const graph::Dag& units, std::size_t most_stages, const PartitionVisitor& visit,
                              core::StopToken stop = {});

}  // namespace penstock::planners
