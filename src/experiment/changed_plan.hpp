#pragma once
// A plan on more or fewer devices, or with other batches.

#include "penstock/experiment/what_if.hpp"

namespace penstock::experiment {

/// Scales the replicas of every stage with the number of devices: each replica takes as many samples at a
/// time as before. Stages on consecutive devices stay in this order; otherwise copies of the whole plan are
/// placed one after the other. In-flight counts become 0, to be derived. Throws BadInput in words if replicas
/// do not divide, or if stages are colocated.
void scale_devices(plan::Plan& plan, std::int64_t from, std::int64_t to);

/// Changes the samples that every replica takes at a time. In-flight counts become 0. Throws BadInput if a
/// factor gives no whole number.
void change_micro_batch(plan::Plan& plan, const WhatIfChange& change);

/// Changes the mini-batch. In-flight counts become 0. Throws BadInput if a factor gives no whole number.
void change_mini_batch(plan::Plan& plan, const WhatIfChange& change);

}  // namespace penstock::experiment
