#pragma once
// What passes wait for of the weights that ZeRO gathers and the gradients that it scatters (StageTime).

#include "penstock/cost/sharding.hpp"

namespace penstock::cost {

/// Of passes that compute so long. What stands outside of layers hides behind nothing. Of n layers, taken as
/// equal, each is sent while the one before computes: a pass waits for the first, or, where sending takes
/// longer, for all but what n - 1 of them compute meanwhile. A backward pass sends and computes as a whole;
/// what it waits for is dealt out to its gradients as what they send.
OpTime waited(const Sent& sent, const OpTime& computed);

}  // namespace penstock::cost
