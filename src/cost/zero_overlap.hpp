#pragma once
// What passes wait for of the weights that ZeRO gathers and the gradients that it scatters (StageTime).

#include "penstock/cost/cost_model.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::cost {

/// Layers of a stage whose weights and gradients travel while other layers compute, and what stands beside
/// them: at least one.
double travelling_layers(const graph::OpGraph& graph, const plan::Stage& stage);

/// Of passes that send so much in as many equal parts while they compute: that of one layer, and what takes
/// longer than all that is computed meanwhile. A backward pass sends and computes as a whole; what it waits
/// for is dealt out to its gradients as what they send.
OpTime waited(const OpTime& sent, const OpTime& computed, double layers);

}  // namespace penstock::cost
