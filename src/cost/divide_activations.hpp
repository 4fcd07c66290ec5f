#pragma once
// Activations of a stage: those saved from the forward pass on, and those of a segment that it recomputes.

#include "activations.hpp"
#include "penstock/cost/sharding.hpp"

namespace penstock::cost {

/// Sets `saved` and `activations`, by which the fullest moment of a backward pass exceeds `saved`. The pass
/// frees an operator's tensors when it has left the operator. So the inside of a layer takes the place of what
/// the layers behind it saved. Cores count beside everything saved, which a split backward pass keeps for its
/// weight gradients. An operator outside the segments saves all its activations, one inside a segment the
/// outputs that the stage reads outside of it. Attention whose core is recomputed saves all but the activations
/// of the core. A copy is saved where a reader is outside the segments, else each segment that reads it makes
/// it again.
void divide_activations(StageLoad& load, const graph::OpGraph& graph, const plan::Stage& stage,
                        const ActivationsOf& activations_of, std::span<const HeldCopy> copies = {});

}  // namespace penstock::cost
