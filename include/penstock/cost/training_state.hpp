#pragma once
// Memory of a model's parameters, whatever its plan.

#include "penstock/cost/problem.hpp"

namespace penstock::cost {

/// Weights, gradients and optimizer state of the whole model, each held once by all devices together.
core::Bytes training_state(const Problem& problem);

}  // namespace penstock::cost
