#pragma once
// Parts of a model that run side by side, and what stands behind all of them.

#include <cstddef>
#include <optional>
#include <vector>

#include "units.hpp"

namespace penstock::planners {

/// The towers of a recommendation model and its dense layers, the encoders of two modalities and their loss.
struct JoinedBranches {
  std::vector<std::vector<std::size_t>> side_by_side;  ///< units, ascending; two or more, none of which waits
                                                       ///< for another's
  std::vector<std::size_t> behind;                     ///< ascending: a unit that waits for all of these, and
                                                       ///< all that wait for it
};

/// Nothing where the model does not begin side by side and end in one piece.
std::optional<JoinedBranches> joined_branches(const Units& units);

}  // namespace penstock::planners
