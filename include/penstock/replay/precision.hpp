#pragma once
// Precision in which a replay computes.

#include "penstock/graph/op_graph.hpp"
#include "penstock/kernels/precision.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::replay {

/// Returns fp32 for models of four-byte numbers, whose training must be in fp32 throughout; for two-byte
/// models the format of the plan's weights. Kernels' gradients have that format, too; moments and master
/// weights are fp32 (the backends' updates). Throws BadInput if a plan's precision differs from this, or is
/// missing for two-byte models, and for models of other numbers.
kernels::Precision precision_of(const graph::OpGraph& graph, const plan::Training& training);

}  // namespace penstock::replay
