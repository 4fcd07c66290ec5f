#pragma once
// Saved activations of a model with frozen parameters.

#include "penstock/graph/op_graph.hpp"

namespace penstock::models {

/// Returns the graph without saved activations that no gradient reads. An operator without trainable
/// operators at or before it has no backward pass: it keeps only its output, if a reader's gradient needs
/// that. Other operators keep their internals, and their output unless no reader needs it. Readers without
/// that need are layers with frozen weights, whose input gradient needs only the weights, and sums and the
/// like. Corresponds to PyTorch's autograd, which saves what a gradient formula reads. Difference: the output
/// of a softmax or of a fused function is always kept, because their own gradient reads it.
graph::OpGraph without_unread(const graph::OpGraph& graph);

}  // namespace penstock::models
