#pragma once
// Copies of a plan that run side by side, all alike, of which one stands for all.

#include <optional>

#include "penstock/cost/problem.hpp"
#include "penstock/sim/options.hpp"

namespace penstock::sim {

/// One of them, as many as there are.
struct Copy {
  plan::Plan plan;  ///< of every stage its replicas alone, and their part of every micro-batch
  std::optional<plan::Plan>
      whole;  ///< all replicas, copy by copy, where the plan lists them in another order
};

/// Whether devices that are alike take equally long: replicas share all micro-batches, gradients are reduced
/// in closed form, and nothing is perturbed, travels for a group, crowds, or has a route of its own.
bool may_fold(const cost::Problem& problem, const plan::Plan& plan, const SimulationOptions& options);

/// The plan with the replicas of its first copy alone. Its tasks take place at the same times as in the whole
/// plan, as long as they take what they take there (collectives among all replicas too):
///  - replicas split micro-batches of one size, so that a copy's samples never leave it;
///  - copies run on devices, and send over links, of their own, and are alike (Correspondence);
///  - all gradients are reduced in closed form, which waits for all copies and these are ready at once.
/// None where the plan is its only copy, where replicas take turns (without a flush), where parts of a
/// colocated stage send samples across copies, where anything is perturbed, travels for a group, or crowds,
/// and where routes are given.
std::optional<Copy> one_copy(const cost::Problem& problem, const plan::Plan& plan,
                             const SimulationOptions& options);

}  // namespace penstock::sim
