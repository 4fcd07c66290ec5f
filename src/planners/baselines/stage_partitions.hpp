#pragma once
// Every way to cut a small graph into stages.

#include <cstdint>
#include <functional>
#include <vector>

#include "penstock/core/stop.hpp"
#include "penstock/graph/dag.hpp"

namespace penstock::planners {

using UnitSet = std::uint32_t;  ///< bit u: unit u belongs to the stage
using StagePartition =
    std::vector<UnitSet>;  ///< producers first; of ready stages the one with the first unit in front
using PartitionVisitor = std::function<void(const StagePartition&)>;

/// Visits each partition of the units into at most `most_stages` stages none of which waits for itself, by
/// way of others or not; each once. At most 32 units, and sensibly 12 (4 million partitions before any is
/// left out). Throws as `stop` does.
void for_each_stage_partition(const graph::Dag& units, std::size_t most_stages, const PartitionVisitor& visit,
                              core::StopToken stop = {});

}  // namespace penstock::planners
