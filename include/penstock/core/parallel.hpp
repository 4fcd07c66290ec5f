#pragma once
// The one door to threads. Keeps oneTBB out of other rooms.

#include <cstddef>
#include <functional>

namespace penstock::core {

/// Calls body(i) once for each i below `count`, on as many threads as oneTBB is allowed; returns when all are
/// done. The first exception ends the loop and is thrown on. Loops may stand inside loops.
void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body);

/// Likewise, and no i begins before a smaller one has begun.
void parallel_in_order(std::size_t count, const std::function<void(std::size_t)>& body);

}  // namespace penstock::core
