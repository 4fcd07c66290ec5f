#pragma once
// Set of positions of an arrangement that form a stage.

#include <compare>
#include <vector>

namespace penstock::planners {

/// Positions [begin, end).
struct PositionRange {
  int begin = 0;
  int end = 0;
  friend auto operator<=>(const PositionRange&, const PositionRange&) = default;
};
using StageSet = std::vector<PositionRange>;  ///< disjoint, ascending, neighbours merged

/// Returns `parts` sorted and merged.
StageSet merged(StageSet parts);

/// Union of two sets that share no position.
StageSet joined(const StageSet& a, const StageSet& b);

}  // namespace penstock::planners
