#pragma once
// Is a plan well formed? Conditions C1 to C3 of GraphPipe (section 3); C4 and memory are judged elsewhere.

#include <optional>
#include <string>
#include <vector>

#include "penstock/cluster/cluster.hpp"
#include "penstock/graph/op_graph.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::plan {

/// Why the model is not trained with mini-batches of so many samples, in words: there are 1 to kMostSamples,
/// and all tensors that they make and keep take at most 256 PiB, so that sums of bytes stay exact.
std::optional<std::string> mini_batch_violation(const graph::OpGraph& graph, std::int64_t mini_batch);

/// Why weights are not held as the training says: the model's numbers have another size.
std::optional<std::string> precision_violation(const graph::OpGraph& graph, const Training& training);

/// Every violation in words; empty when there is none. Checks that
///  C1 each operator is in exactly one stage and each stage is convex,
///  C2 stages are listed producers first, and no `after` points forward,
///  C3 every stage has devices, every device serves a stage, and stages share all their devices or none
///  (GraphPipe has
///     one stage per device; interleaved schedules have several),
/// that tensor-parallel and context groups are of one size per rank, ZeRO is used where a schedule flushes,
/// ratios of compression are ratios, that weights are held in numbers of the model's size, that the iteration
/// has at most 2^26 passes (what the simulator handles), and that micro-batch sizes divide the mini-batch and
/// leave every replica at least one sample.
std::vector<std::string> structural_violations(const graph::OpGraph& graph, const cluster::Cluster& cluster,
                                               const Plan& plan);
/// The same of some stages of a plan, which may lack operators and devices.
std::vector<std::string> part_violations(const graph::OpGraph& graph, const cluster::Cluster& cluster,
                                         const Plan& plan);

}  // namespace penstock::plan
