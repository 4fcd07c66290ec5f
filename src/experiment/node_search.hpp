#pragma once
// Private to the room: the fewest nodes that are enough.

#include <functional>
#include <optional>

namespace penstock::experiment {

/// Fewest nodes, 1 to `most`, for which enough(nodes) holds, if more nodes are never worse. Starts near `first`. First tries
/// counts of at most two significant bits, until one is enough and the next lower one is not. Then tries counts of at most
/// four significant bits between these two, by bisection. None if no count that was tried is enough.
std::optional<int> least_nodes(int first, int most, const std::function<bool(int)>& enough);

/// The next lower count of at most four significant bits; none below 1.
std::optional<int> next_lower_count(int nodes);

}  // namespace penstock::experiment
