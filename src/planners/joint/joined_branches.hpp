#pragma once
// Parts of a model that run side by side, and the part behind all of them.

#include <cstddef>
#include <optional>
#include <vector>

#include "units.hpp"

namespace penstock::planners {

/// Examples: the towers of a recommendation model and its dense layers, the encoders of two modalities and
/// their loss.
struct JoinedBranches {
  /// Units, ascending; two or more parts, none of which waits for another.
  std::vector<std::vector<std::size_t>> side_by_side;
  /// Ascending: a unit that waits for all parts, and all units that wait for it.
  std::vector<std::size_t> behind;
};

/// Returns nothing if the model does not begin side by side and end in one piece.
std::optional<JoinedBranches> joined_branches(const UnitGraph& units);

}  // namespace penstock::planners
