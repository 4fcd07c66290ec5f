#pragma once
// Validity of a plan: conditions C1 to C3 of GraphPipe (section 3). C4 and memory are checked elsewhere.

#include <optional>
#include <string>
#include <vector>

#include "penstock/cluster/cluster.hpp"
#include "penstock/graph/op_graph.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::plan {

/// Reason why the model cannot be trained with mini-batches of this many samples, in words; nothing if it
/// can. Allowed: 1 to kMostSamples, with at most 256 PiB for all tensors made and kept, so that sums of bytes
/// stay exact.
std::optional<std::string> mini_batch_violation(const graph::OpGraph& graph, std::int64_t mini_batch);

/// Reason why weights cannot have the precision of the training, in words: the model's numbers have another
/// size, or its layers multiply in another format.
std::optional<std::string> precision_violation(const graph::OpGraph& graph, const Training& training);
/// Reason why a device cannot multiply in the format of the training, in words.
std::optional<std::string> products_violation(const cluster::Cluster& cluster, const Training& training);

/// All violations in words; empty if there are none. Checks these conditions:
///   C1 each operator is in exactly one stage and each stage is convex,
///   C2 stages are listed producers first, and no `after` points forward,
///   C3 every stage has devices, every device serves a stage, and stages share all their devices or none
///      (GraphPipe has one stage per device; interleaved schedules have several),
///   further: tensor-parallel and context groups have one size per rank, ZeRO is used only with a flush,
///   ratios of compression are ratios, weights have the size of the model's numbers, the iteration has at
///   most 2^26 passes (the simulator's limit), and micro-batch sizes divide the mini-batch and leave every
///   replica at least one sample.
std::vector<std::string> structural_violations(const graph::OpGraph& graph, const cluster::Cluster& cluster,
                                               const Plan& plan);
/// Like structural_violations, for some stages of a plan, which may lack operators and devices.
std::vector<std::string> part_violations(const graph::OpGraph& graph, const cluster::Cluster& cluster,
                                         const Plan& plan);

}  // namespace penstock::plan
