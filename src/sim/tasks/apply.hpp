#pragma once
// A perturbation, put into the task graph of an unperturbed iteration.

#include "penstock/sim/perturbation.hpp"
#include "tasks/task_graph.hpp"

namespace penstock::sim {

/// Slow devices and jitter change durations (and TaskGraph::stretch); stragglers and link faults become the
/// graph's speeds and capacity changes. A task's draw is a function of the seed and of what the task is
/// (kind, stage, devices, micro-batch): neither other tasks nor the order of events show in it. Throws
/// BadInput when the iteration might outlast the simulator's clock.
void apply(const Perturbation& perturbation, std::uint64_t seed, TaskGraph& graph);

/// The factor that a jitter makes of a number drawn evenly from [0, 1).
double factor(Distribution distribution, double width, double unit);

}  // namespace penstock::sim
