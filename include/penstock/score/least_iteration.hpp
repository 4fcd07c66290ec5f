#pragma once
// A bound on a plan's iteration that takes little longer than looking at it.

#include "penstock/cost/problem.hpp"
#include "penstock/score/problem_bound.hpp"

namespace penstock::score {

/// No simulated iteration of the plan is shorter, unperturbed and where collectives within passes are of
/// closed form: on the busiest device the first micro-batch must come through the stages before its own, all
/// its passes follow each other, and after the last one what it hands on goes back through the stages before,
/// or its gradients are reduced. Messages take no time. Head, work and tail of one machine, as
/// BoundKind::head_tail; there also where stages share devices or have micro-batches of their own, and
/// without looking at any link. Zero without a flush. The plan must be structurally valid.
core::Seconds least_iteration(const cost::Problem& problem, const plan::Plan& plan,
                              Reduction reduction = Reduction::free);

}  // namespace penstock::score
