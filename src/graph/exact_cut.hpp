#pragma once
// The best downset to put first, by exhaustive search. Inside the room only.

#include <optional>

#include "pieces.hpp"

namespace penstock::graph {

/// Labels 0 (first) and 1 (then) of the cut that leads to the shortest critical path of any series-parallel
/// order over the piece. The piece must be connected and have at least two vertices. Nothing when the piece
/// has more than 64 vertices or the search looked at `most_cuts` cuts without an end.
std::optional<std::vector<int>> exact_cut(const GraphPiece& piece, std::size_t most_cuts);

}  // namespace penstock::graph
