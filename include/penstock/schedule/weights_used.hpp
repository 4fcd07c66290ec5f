#pragma once
// Weights that the passes of a plan use.

#include <cstdint>
#include <vector>

#include "penstock/plan/plan.hpp"
#include "penstock/schedule/schedule.hpp"

namespace penstock::schedule {

/// [rank][replica][position in the row] number of updates in the weights that a pass uses; -1 if it uses
/// none.
using WeightsUsed = std::vector<std::vector<std::vector<std::int32_t>>>;

/// Weights by the schedule's policy (weight_versions.hpp), applied to the STEPs of the order. An update
/// exists once its STEP has run. If replicas hide a reduction, that is later than in weight_versions, where
/// an update follows the last gradient it needs. Recomputation uses the weights of the backward pass after
/// it; a prediction starts from the weights given here. Throws BadInput naming rank and pass if a policy
/// needs weights that do not exist yet.
WeightsUsed weights_used(const plan::Plan& plan, const std::vector<RankOrder>& rows,
                         const std::vector<std::int32_t>& rank_of_stage);

}  // namespace penstock::schedule
