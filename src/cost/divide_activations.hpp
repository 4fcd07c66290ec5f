#pragma once
// What a stage saves from the forward pass on, and what it keeps of a segment that it computes again.

#include <functional>

#include "penstock/cost/stage_load.hpp"

namespace penstock::cost {

/// What one device keeps of an operator for the backward pass, its output, and what its core keeps.
struct Activations {
  core::Bytes all, output, core;
};
using ActivationsOf = std::function<Activations(core::OpId)>;

/// Sets `saved` and `activations`. Operators outside the segments save what they keep, those inside one the outputs
/// that the stage reads outside of it, attention whose core is computed again all but what its core keeps.
void divide_activations(StageLoad& load, const graph::OpGraph& graph, const plan::Stage& stage,
                        const ActivationsOf& activations_of);

}  // namespace penstock::cost
