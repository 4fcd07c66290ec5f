#pragma once
// Parallel loops; the only code that uses oneTBB.

#include <cstddef>
#include <functional>

namespace penstock::core {

/// Calls body(i) once for each i below `count`, on as many threads as oneTBB is allowed; returns when all
/// calls are done. The first exception ends the loop and is rethrown. Loops may be nested.
void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body);

/// Like parallel_for, but no i begins before a smaller i has begun.
void parallel_in_order(std::size_t count, const std::function<void(std::size_t)>& body);

}  // namespace penstock::core
