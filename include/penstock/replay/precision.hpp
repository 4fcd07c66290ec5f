#pragma once
// In which numbers a replay computes.

#include "penstock/graph/op_graph.hpp"
#include "penstock/kernels/precision.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::replay {

/// fp32 for models of four-byte numbers, whose training is in fp32 throughout; for those of two bytes the
/// format of the plan's weights. Kernels' gradients are in that too, an optimizer's moments and master
/// weights in fp32 (the backends' updates). Throws BadInput where a plan's precision says otherwise, or, of
/// two bytes, nothing, and for models of other numbers.
kernels::Precision precision_of(const graph::OpGraph& graph, const plan::Training& training);

}  // namespace penstock::replay
