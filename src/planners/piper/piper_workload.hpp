#pragma once
// A planning problem in Piper's terms.

#include "penstock/cost/problem.hpp"
#include "penstock/graph/piper_graph.hpp"
#include "tensor/sharded_operators.hpp"
#include "units.hpp"

namespace penstock::planners {

/// Returns the workload that the problem's costs were imported with: one layer per unit, for the cluster's
/// number of devices and bandwidth, with groups of at most `most_devices`. Throws BadInput if the costs hold
/// none, if its layers and messages are not the model's units and edges, or if some layer runs only on larger
/// groups.
graph::PiperWorkload imported_workload(const cost::Problem& problem, const UnitGraph& units,
                                       int most_devices);

/// Returns a workload with one layer per unit, at tensor-parallel degree 1 and those of `sharded`, ascending,
/// plain or recomputed. One micro-batch is `samples` samples, which a replica takes whole. Times are those of
/// the slowest device type. Memory: what a stage keeps of its own operators per micro-batch, plus weights,
/// gradients and optimizer state, which units that share weights count twice. Piper's model has no received
/// tensors, buffers or workspace. Bandwidth: between consecutive devices that all send at once. `in_row`:
/// each unit is also tied to the next. For degrees as sums over layers, see ShardedTimes.
graph::PiperWorkload piper_workload(const cost::Problem& problem, const UnitGraph& units,
                                    std::int64_t samples, bool in_row,
                                    std::span<const ShardedOperators> sharded);

}  // namespace penstock::planners
