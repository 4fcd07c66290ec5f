#pragma once
// What a user's frameworks cannot run, and `joint` is not to propose.

#include "own_options.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::planners {

struct PlanLimits {
  int zero = 3;                   ///< largest ZeRO stage
  bool sequence_parallel = true;  ///< groups may divide tokens, of whole stages or of single operators
  bool recompute = true;
  bool recompute_cores = true;  ///< of attention alone

  bool allow(const plan::Plan& plan) const;
};

/// The options that state them.
std::vector<PlannerOption> limit_options();
PlanLimits plan_limits(const OwnValues& own);

}  // namespace penstock::planners
