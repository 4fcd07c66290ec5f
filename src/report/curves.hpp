#pragma once
// Quantities over time derived from a trace: memory of a device, load of a link. Private to the room.

#include <string>
#include <vector>

#include "penstock/cluster/cluster.hpp"
#include "penstock/trace/trace.hpp"

namespace penstock::report {

/// The value from `time` on.
struct CurvePoint {
  core::Picoseconds time;
  std::int64_t value;
};

/// Sorted by time, one sample per moment and only where the value changes; the first is at time zero. Empty
/// if the value is always zero.
using Curve = std::vector<CurvePoint>;

/// Bytes of one kind over time.
Curve memory_curve(const trace::DeviceTrace& device, trace::MemoryKind kind);

/// [device] bytes of current transfers.
struct MovingBytes {
  std::vector<Curve> out, in;
};
MovingBytes moving_bytes(const trace::Trace& trace);

/// [link of the cluster] bytes per second: a transfer loads every link of its route with its mean rate, bytes
/// by duration, from start to end. A transfer of no duration adds nothing.
std::vector<Curve> link_load(const trace::Trace& trace, const cluster::Cluster& cluster);

}  // namespace penstock::report
