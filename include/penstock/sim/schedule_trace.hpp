#pragma once
// A timed schedule as a trace, from which pictures are drawn.

#include "penstock/sim/schedule_times.hpp"
#include "penstock/trace/trace.hpp"

namespace penstock::sim {

/// One device per rank. A recomputation becomes a forward span; an overlapped pair becomes its forward, then
/// its backward. Messages and memory are left out, because a schedule has no bytes.
trace::Trace to_trace(const schedule::Schedule& schedule, const ScheduleTimes& result,
                      const schedule::PassCosts& costs);

}  // namespace penstock::sim
