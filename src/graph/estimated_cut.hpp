#pragma once
// Promising downsets to put first in a large piece. Inside the room only.

#include "pieces.hpp"

namespace penstock::graph {

/// Labels 0 (first) and 1 (then), for a connected piece of at least two vertices: at least one cut and at
/// most `count` pairs, the smallest bound first. The bound of a cut is (critical path of the first side) +
/// (of the other).
///
/// Let `to` and `from` be the heaviest paths into and out of each vertex. A downset with critical path x lies
/// within {to <= x}, and the larger it is the less remains. So the sweep over x meets the smallest bound of
/// all downsets. With y the critical path of what remains, {from > y} is the smallest downset of that bound.
/// Each pair holds the largest, which keeps early work together, and the smallest, which delays little.
std::vector<std::vector<int>> estimated_cuts(const GraphPiece& piece, int count);

}  // namespace penstock::graph
