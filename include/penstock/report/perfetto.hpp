#pragma once
// A trace for ui.perfetto.dev: zoom into what the timeline picture only shows.

#include <string>

#include "penstock/trace/trace.hpp"

namespace penstock::report {

/// Chrome's JSON trace format: one process per device; threads for compute, send, receive and all-reduce;
/// counters for activations and buffers in bytes. Times are microseconds, exact to the picosecond.
/// Slices of one thread must not overlap, so concurrent transfers get threads of their own ("send 2").
std::string to_perfetto(const trace::Trace& trace);

}  // namespace penstock::report
