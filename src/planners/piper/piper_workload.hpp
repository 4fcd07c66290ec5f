#pragma once
// A planning problem of ours in Piper's terms.

#include "penstock/cost/problem.hpp"
#include "penstock/graph/piper_graph.hpp"
#include "tensor/sharded_operators.hpp"
#include "units.hpp"

namespace penstock::planners {

/// The workload that the problem's costs were imported with, one layer per unit, for as many devices as the
/// cluster has and its bandwidth; groups of at most `most_devices`. Throws BadInput when the costs hold none,
/// when its layers and messages are not the model's units and edges, and when some layer runs on larger
/// groups only.
graph::PiperWorkload imported_workload(const cost::Problem& problem, const Units& units, int most_devices);

/// One layer per unit, at tensor-parallel degree 1 and those of `sharded`, ascending, plain or recomputed;
/// one micro-batch is `samples` samples, which a replica takes whole. Times are those of the slowest device
/// type. Memory: what a stage keeps of its own operators per micro-batch, and weights, gradients and
/// optimizer state once, those that a unit shares with another at each of the two; Piper's model has no place
/// for tensors received, buffers and workspace. Bandwidth: between consecutive devices that all send at once.
/// `in_row`: each unit is also tied to the next. How degrees become sums over layers: ShardedTimes.
graph::PiperWorkload piper_workload(const cost::Problem& problem, const Units& units, std::int64_t samples,
                                    bool in_row, std::span<const ShardedOperators> sharded);

}  // namespace penstock::planners
