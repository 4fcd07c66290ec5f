#pragma once
// How much of every operator a device of a mixed group takes.

#include <cstdint>
#include <vector>

#include "penstock/core/stop.hpp"
#include "penstock/cost/problem.hpp"

namespace penstock::planners {

/// Shares in proportion to how fast each device is alone with the whole model; none where all devices of a
/// group are of one type, or where groups differ in their types: shares hold for every group.
std::vector<std::int64_t> even_load(const cost::Problem& problem, const plan::Stage& stage);

/// The shares, one per device type, that make lone_stage_seconds of a stage with shares least: AccPar's ratio
/// (Song et al., HPCA 2020), type after type against all others, within half a percent. Searched on a grid
/// that is refined around its best point, for samples come whole and time is no smooth function of shares.
/// Throws as `stop` does.
std::vector<std::int64_t> best_shares(const cost::Problem& problem, const plan::Stage& stage,
                                      core::StopToken stop);

}  // namespace penstock::planners
