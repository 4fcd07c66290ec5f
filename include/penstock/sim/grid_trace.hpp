#pragma once
// A timed grid in the form that pictures are drawn from.

#include "penstock/sim/grid.hpp"
#include "penstock/trace/trace.hpp"

namespace penstock::sim {

/// One device per rank. A recomputation is a forward span; an overlapped pair becomes its forward, then its
/// backward. Messages and memory are left out: a grid knows no bytes.
trace::Trace to_trace(const schedule::Grid& grid, const GridResult& result, const schedule::GridCosts& costs);

}  // namespace penstock::sim
