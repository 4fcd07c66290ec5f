#pragma once
// A timed schedule in the form that pictures are drawn from.

#include "penstock/sim/schedule_times.hpp"
#include "penstock/trace/trace.hpp"

namespace penstock::sim {

/// One device per rank. A recomputation is a forward span; an overlapped pair becomes its forward, then its
/// backward. Messages and memory are left out: a schedule knows no bytes.
trace::Trace to_trace(const schedule::Schedule& schedule, const ScheduleTimes& result,
                      const schedule::PassCosts& costs);

}  // namespace penstock::sim
