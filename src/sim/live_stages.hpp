#pragma once
// How many stages' activations every rank of a timed grid holds at most.

#include <vector>

#include "penstock/sim/grid.hpp"

namespace penstock::sim {

/// The counting rule stands at GridResult::peak_live.
std::vector<int> peak_live(const schedule::Grid& grid, const std::vector<std::vector<Interval>>& times);

}  // namespace penstock::sim
