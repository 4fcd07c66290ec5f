#pragma once
// Which weights the passes of a plan use.

#include <cstdint>
#include <vector>

#include "penstock/plan/plan.hpp"
#include "penstock/schedule/schedule.hpp"

namespace penstock::schedule {

/// [rank][replica][position in the row]: updates in the weights that a pass uses; -1 of what uses none.
using WeightsUsed = std::vector<std::vector<std::vector<std::int32_t>>>;

/// Weights by the schedule's policy (weight_versions.hpp), applied to the STEPs of the order: an update
/// exists once its own has been run. Where replicas hide a reduction, that is later than weight_versions
/// counts, which makes an update with the last gradient it is of. Recomputation uses what the backward pass
/// after it uses; a prediction, what it starts from. Throws BadInput naming rank and pass where a policy asks
/// for weights that are not made yet.
WeightsUsed weights_used(const plan::Plan& plan, const std::vector<RankOrder>& rows,
                         const std::vector<std::int32_t>& rank_of_stage);

}  // namespace penstock::schedule
