#pragma once
// A trace in Perfetto's native form, for traces of any size; documented at
// perfetto.dev/docs/reference/synthetic-track-event.

#include <functional>
#include <string_view>

#include "penstock/cluster/cluster.hpp"
#include "penstock/trace/trace.hpp"

namespace penstock::report {

/// Receives the next bytes of a file.
using ByteSink = std::function<void(std::string_view)>;

/// Writes a Perfetto `Trace` of TrackEvent packets, compressed in blocks (`compressed_packets`), each passed
/// to `sink` at once; about 50 bytes per span.
///
/// Tracks: one per device, named by number, stage and (with a cluster) type. Below each:
///  - slices "compute", "send", "receive", "all-reduce". Micro-batch 3 is "F3" forward, "B3" backward; a
///    transfer has the name of its data and appears at both ends. Slices of a track never overlap:
///    concurrent ones go to several tracks of one name, which the viewer stacks;
///  - counters in bytes: memory by kind, without kinds never held; without a cluster also bytes in flight,
///    "sending" and "receiving";
///  - a slice "out of memory" from the time at which a device runs out, named by the task that caused it.
/// With a cluster, "links" has a counter in bytes/s for each link that carries data: the sum of the mean
/// rates (bytes by duration) of current transfers. Switches, and devices outside the trace, are named by
/// their number among the cluster's points.
///
/// Flows lead from a computation through its transfers to the computations that need them. A trace does not
/// store these; src/report/flows.hpp infers them. Annotations: stage, micro-batch, bytes, peer.
///
/// Times are nanoseconds, rounded down from picoseconds: order is kept, a slice shorter than a nanosecond may
/// look empty. Packets are sorted by time within a track, not across tracks.
///
/// `cluster` may be null; otherwise its first devices are the trace's.
void write_track_events(const trace::Trace& trace, const cluster::Cluster* cluster, const ByteSink& sink);

}  // namespace penstock::report
