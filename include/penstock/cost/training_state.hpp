#pragma once
// Memory of a model's parameters, whatever its plan.

#include "penstock/cost/problem.hpp"

namespace penstock::cost {

/// Weights, gradients and optimizer state of the whole model, each held once by all devices together.
core::Bytes training_state(const Problem& problem);

/// Bytes of a checkpoint: weights and optimizer state, each once.
core::Bytes checkpoint_bytes(const Problem& problem);

}  // namespace penstock::cost
