#pragma once
// Time that passes wait for weights that ZeRO gathers and gradients that it scatters (StageTime).

#include "penstock/cost/sharding.hpp"

namespace penstock::cost {

/// Wait of passes that compute so long. Operators outside of layers hide behind nothing. Layers are taken as
/// equal, and each of n is sent while the one before computes. So a pass waits for the first, or, where
/// sending takes longer, for all but what n - 1 of them compute meanwhile. A backward pass sends and computes
/// as a whole; its wait is dealt out to its gradients as what they send.
OpTime waited(const ReplicaTraffic& sent, const OpTime& computed);

}  // namespace penstock::cost
