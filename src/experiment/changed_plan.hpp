#pragma once
// A plan on more or fewer devices, or with other batches.

#include "penstock/experiment/what_if.hpp"

namespace penstock::experiment {

/// Every stage with as many times the replicas as there are devices: a replica takes as many samples at a
/// time as before. Stages that lie in rows of devices stay in this order; else whole copies of the plan are
/// put behind each other. In-flight counts are 0, to be derived. Throws BadInput in words where replicas do
/// not divide so, or where stages are colocated.
void scale_devices(plan::Plan& plan, std::int64_t from, std::int64_t to);

/// Samples that every replica takes at a time. In-flight counts are 0. Throws BadInput where a factor leaves
/// no whole number.
void change_micro_batch(plan::Plan& plan, const WhatIfChange& change);

/// In-flight counts are 0. Throws BadInput where a factor leaves no whole number.
void change_mini_batch(plan::Plan& plan, const WhatIfChange& change);

}  // namespace penstock::experiment
