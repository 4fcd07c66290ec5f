#pragma once
// Fast lower bound on the iteration time of one plan.

#include "penstock/cost/problem.hpp"
#include "penstock/score/problem_bound.hpp"

namespace penstock::score {

/// Lower bound on the unperturbed simulated iteration, if collectives within passes follow closed forms. On
/// the busiest device the first micro-batch must pass the stages before its own, then all its passes run one
/// after the other. After the last pass its result goes back through the stages before, or its gradients are
/// reduced. Messages take no time. This is head, work and tail of one machine, like BoundKind::head_tail, but
/// also holds if stages share devices or differ in micro-batches, and looks at no link. Zero without a flush.
/// The plan must be structurally valid.
core::Seconds least_iteration(const cost::Problem& problem, const plan::Plan& plan,
                              ReductionTiming reduction = ReductionTiming::free);

}  // namespace penstock::score
