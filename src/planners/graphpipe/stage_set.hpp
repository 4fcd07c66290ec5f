#pragma once
// Which part of an arrangement a stage is.

#include <compare>
#include <vector>

namespace penstock::planners {

/// Positions [begin, end).
struct Range {
  int begin = 0;
  int end = 0;
  friend auto operator<=>(const Range&, const Range&) = default;
};
using StageSet = std::vector<Range>;  ///< disjoint, ascending, neighbours merged

/// `parts` sorted and merged.
StageSet merged(StageSet parts);

/// Both; they share no position.
StageSet joined(const StageSet& a, const StageSet& b);

}  // namespace penstock::planners
