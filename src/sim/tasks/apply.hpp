#pragma once
// Applies a perturbation to the task graph of an unperturbed iteration.

#include "penstock/sim/perturbation.hpp"
#include "tasks/task_graph.hpp"

namespace penstock::sim {

/// Slow devices and jitter change durations (and TaskGraph::stretch); stragglers and link faults become the
/// graph's speeds and capacity changes. A task's random number depends only on the seed and on the task
/// itself (kind, stage, devices, micro-batch), not on other tasks or the order of events. Throws BadInput if
/// the iteration might exceed the simulator's clock.
void apply(const Perturbation& perturbation, std::uint64_t seed, TaskGraph& graph);

/// Factor of a jitter for a number drawn uniformly from [0, 1).
double factor(JitterDistribution distribution, double width, double unit);

}  // namespace penstock::sim
