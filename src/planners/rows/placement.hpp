#pragma once
// DAPPLE's rules for choosing the machines of a stage.

#include <vector>

namespace penstock::planners {

/// Rules of Fan et al., PPoPP 2021, section 4.2 (as recalled).
enum class PlacementPolicy {
  fresh_first,   ///< unused machines first, then the others: a stage stays inside a machine
  append_first,  ///< machines in use first: no devices are left over
  /// Spread evenly over the machines in use or, if these lack devices, over all machines.
  scatter_first,
};
inline constexpr PlacementPolicy kPlacements[] = {PlacementPolicy::fresh_first, PlacementPolicy::append_first,
                                                  PlacementPolicy::scatter_first};

using Occupancy = std::vector<int>;  ///< [machine] devices

/// [machine] number of devices for a stage of `count` devices. At least as many are free. Ties: the first
/// machine.
Occupancy placed(PlacementPolicy rule, const Occupancy& capacity, const Occupancy& used, int count);

}  // namespace penstock::planners
