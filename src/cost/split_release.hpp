#pragma once
// Memory that a framework frees at the end of an input gradient whose weight gradient has a pass of its own.

#include <span>

#include "activations.hpp"

namespace penstock::cost {

/// StageLoad::released of these operators. `load` has the framework, and the bytes of the stage's inputs. They
/// stay if a product of weights reads any of them. `cores`, ascending, are recomputed: they end with the input
/// gradient in any case.
core::Bytes released(const graph::OpGraph& graph, std::span<const core::OpId> operators,
                     const StageLoad& load, const ActivationsOf& activations_of,
                     std::span<const core::OpId> cores = {});

}  // namespace penstock::cost
