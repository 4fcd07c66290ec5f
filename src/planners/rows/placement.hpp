#pragma once
// DAPPLE's rules for which machines a stage gets its devices from.

#include <vector>

namespace penstock::planners {

/// Fan et al., PPoPP 2021, section 4.2 (as recalled).
enum class Placement {
  fresh_first,    ///< machines nobody uses yet, then the others: a stage stays inside a machine
  append_first,   ///< machines in use first: nothing is left over
  scatter_first,  ///< as evenly as possible over the machines in use or, where these lack devices, over all
};
inline constexpr Placement kPlacements[] = {Placement::fresh_first, Placement::append_first,
                                            Placement::scatter_first};

using Occupancy = std::vector<int>;  ///< [machine] devices

/// How many devices of each machine a stage of `count` devices gets. At least as many are free. Of equal
/// machines the first.
Occupancy placed(Placement rule, const Occupancy& capacity, const Occupancy& used, int count);

}  // namespace penstock::planners
