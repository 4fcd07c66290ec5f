#pragma once
// A trace in Perfetto's own form, for traces of any size; docs at
// perfetto.dev/docs/reference/synthetic-track-event.

#include <functional>
#include <string_view>

#include "penstock/cluster/cluster.hpp"
#include "penstock/trace/trace.hpp"

namespace penstock::report {

/// Takes the next bytes of a file.
using ByteSink = std::function<void(std::string_view)>;

/// A Perfetto `Trace` of TrackEvent packets, compressed in blocks (`compressed_packets`), each handed over at
/// once; about 50 bytes per span.
///
/// Tracks: one per device, named by number, stage and (with a cluster) type. Below each:
///  - slices "compute", "send", "receive", "all-reduce". Micro-batch 3 is "F3" on its way forward, "B3" back;
///    a transfer has the name of what it carries and shows at both ends. Slices of a track never overlap:
///    concurrent ones go to several tracks of one name, which the viewer stacks;
///  - counters in bytes: memory by kind, kinds never held left out; without a cluster also bytes in flight,
///    "sending" and "receiving";
///  - where a device runs out of memory, a slice "out of memory" from then on, named by what asked for more.
/// With a cluster, "links" has a counter in bytes/s for each link that carries something: the sum of the mean
/// rates (bytes by duration) of the transfers under way. Switches, and devices of no use to the trace, go by
/// their number among the cluster's points.
///
/// Flows lead from a computation through its transfers to the computations that need them. A trace does not
/// name those; src/report/flows.hpp says how they are inferred. Annotations: stage, micro-batch, bytes, peer.
///
/// Times are nanoseconds, rounded down from picoseconds: order is kept, a slice of less than a nanosecond may
/// look empty. Packets are in order of time within a track, not across tracks.
///
/// `cluster` may be null; else its first devices are the trace's.
void write_track_events(const trace::Trace& trace, const cluster::Cluster* cluster, const ByteSink& sink);

}  // namespace penstock::report
