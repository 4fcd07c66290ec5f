#pragma once
// Copies of a plan that run side by side and are equal, so that one can represent all.

#include <optional>

#include "penstock/cost/problem.hpp"
#include "penstock/sim/options.hpp"

namespace penstock::sim {

/// One of the equal copies.
struct EqualCopy {
  plan::Plan plan;  ///< one copy's replicas of every stage, with their part of every micro-batch
  std::optional<plan::Plan> whole;  ///< all replicas, copy by copy, if the plan lists them in another order
};

/// True if equal devices take equal times: replicas share all micro-batches, gradients are reduced in closed
/// form, and there are no perturbations, group messages, crowding or given routes.
bool may_fold(const cost::Problem& problem, const plan::Plan& plan, const SimulationOptions& options);

/// Returns the plan with only the replicas of its first copy. Its tasks run at the same times as in the whole
/// plan, provided they keep their durations (also those of collectives among all replicas). Conditions:
///  - replicas split micro-batches of one size, so that samples stay within a copy;
///  - copies have their own devices and links, and are equal (PointCorrespondence);
///  - all gradients are reduced in closed form, which waits for all copies, and these are ready at once.
/// Returns nothing if the plan has one copy, if replicas take turns (no flush), or if parts of a colocated
/// stage send samples across copies. Nor with perturbations, group messages, crowding or given routes.
std::optional<EqualCopy> one_copy(const cost::Problem& problem, const plan::Plan& plan,
                                  const SimulationOptions& options);

}  // namespace penstock::sim
