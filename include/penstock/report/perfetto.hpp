#pragma once
// A trace for ui.perfetto.dev, where one can zoom in.

#include <string>

#include "penstock/cluster/cluster.hpp"
#include "penstock/trace/trace.hpp"

namespace penstock::report {

/// Limit on spans in JSON, a legacy form for Perfetto, whose viewer has crashed on large files
/// (google/perfetto issue 99).
inline constexpr std::size_t kMostJsonSpans = 100'000;

/// Writes the native form (track_event.hpp), or JSON if the name ends in ".json"; whole or not at all. The
/// cluster, which may be null, adds device types and link loads to the native form. Throws an Error with code
/// `limit` for JSON of more than kMostJsonSpans spans, BadInput if the file cannot be written.
void write_perfetto(const std::string& path, const trace::Trace& trace, const cluster::Cluster* cluster);

/// Chrome's JSON trace format: one process per device; threads for compute, send, receive and all-reduce;
/// counters for activations and buffers in bytes. Times are microseconds, exact to the picosecond. Slices of
/// one thread must not overlap, so concurrent transfers get separate threads ("send 2").
std::string to_perfetto_json(const trace::Trace& trace);

}  // namespace penstock::report
