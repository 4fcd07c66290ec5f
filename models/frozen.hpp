#pragma once
// What a model with frozen parameters need not keep for its backward pass.

#include "penstock/graph/op_graph.hpp"

namespace penstock::models {

/// The graph without saved activations that no gradient reads. An operator that trains nothing, nor stands
/// behind one that does, has no backward pass: it keeps its output where a reader's gradient needs that, and
/// nothing else. Others keep their internals, and their output unless all its readers are layers whose
/// weights are frozen, whose input gradient needs the weights alone, or sums and the like. As PyTorch's
/// autograd, which saves what a gradient formula asks for; differs: the output of a softmax or of a fused
/// function is always kept, as it is their own gradient's.
graph::OpGraph without_unread(const graph::OpGraph& graph);

}  // namespace penstock::models
