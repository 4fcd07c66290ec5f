#pragma once
// Which weights the passes of a row use.

#include <cstdint>
#include <vector>

#include "penstock/plan/plan.hpp"
#include "penstock/schedule/grid.hpp"

namespace penstock::replay {

/// [rank][replica][position in the row]: updates in the weights that a pass uses; -1 of what uses none.
using Versions = std::vector<std::vector<std::vector<std::int32_t>>>;

/// By the schedule's policy (schedule::WeightPolicy), applied to the STEPs that stand in the rows: an update
/// exists once its own has been run. Where replicas hide a reduction, that is later than
/// schedule::weight_versions counts, which makes an update with the last gradient it is of. Recomputation
/// uses what the backward pass after it uses. Throws BadInput naming rank and pass where a policy asks for
/// weights that are not made yet, and for predicted weights.
Versions weights_used(const plan::Plan& plan, const std::vector<schedule::Row>& rows,
                      const std::vector<std::int32_t>& rank_of_stage);

}  // namespace penstock::replay
