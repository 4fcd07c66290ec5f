#pragma once
// What a user's frameworks cannot run, and `joint` is not to propose.

#include <cstdint>
#include <limits>

#include "own_options.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::planners {

struct PlanLimits {
  int zero = 3;                   ///< largest ZeRO stage
  bool sequence_parallel = true;  ///< groups may divide tokens, of whole stages or of single operators
  bool recompute = true;
  bool recompute_cores = true;                                      ///< of attention alone
  std::int64_t context_parallel = std::numeric_limits<int>::max();  ///< most groups of a replica
  std::int64_t expert_parallel = std::numeric_limits<int>::max();   ///< most devices that divide experts
  bool hybrid_sharding = true;                                      ///< Stage::zero_over
  bool colocated = true;                                            ///< stages (plan/colocated.hpp)

  bool allow(const plan::Plan& plan) const;
};

/// The options that state them.
std::vector<PlannerOption> limit_options();
PlanLimits plan_limits(const OwnValues& own);

}  // namespace penstock::planners
