#pragma once
// Shares of the devices of a mixed group in every operator.

#include <cstdint>
#include <vector>

#include "penstock/core/stop.hpp"
#include "penstock/cost/problem.hpp"

namespace penstock::planners {

/// Shares in proportion to each device's speed with the whole model. Empty if all devices of a group have one
/// type, or if groups differ in their types, because shares apply to every group.
std::vector<std::int64_t> even_load(const cost::Problem& problem, const plan::Stage& stage);

/// Shares, one per device type, that minimise lone_stage_seconds: AccPar's ratio (Song et al., HPCA 2020),
/// type after type against all others, within half a percent. Searched on a grid that is refined around its
/// best point, because samples are whole and time is not smooth in the shares. Throws like `stop`.
std::vector<std::int64_t> best_shares(const cost::Problem& problem, const plan::Stage& stage,
                                      core::StopToken stop);

}  // namespace penstock::planners
