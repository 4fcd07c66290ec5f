#pragma once
// Features that a user's framework cannot run, so that `joint` must not use them.

#include <cstdint>
#include <limits>

#include "own_options.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::planners {

struct PlanLimits {
  int zero = 3;  ///< maximum ZeRO stage
  /// True: groups may divide tokens, of whole stages or of single operators.
  bool sequence_parallel = true;
  bool recompute = true;
  bool recompute_cores = true;  ///< recomputation of attention's core only
  std::int64_t context_parallel = std::numeric_limits<int>::max();  ///< maximum groups of a replica
  std::int64_t expert_parallel = std::numeric_limits<int>::max();   ///< maximum devices that divide experts
  bool hybrid_sharding = true;                                      ///< Stage::zero_over
  bool colocated = true;                                            ///< colocated stages (plan/colocated.hpp)

  bool allow(const plan::Plan& plan) const;
};

/// Options that set these limits.
std::vector<PlannerOption> limit_options();
PlanLimits plan_limits(const OwnValues& own);

}  // namespace penstock::planners
