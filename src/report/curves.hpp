#pragma once
// Quantities over time that a trace implies: memory of a device, load of a link. Private to the room.

#include <string>
#include <vector>

#include "penstock/cluster/cluster.hpp"
#include "penstock/trace/trace.hpp"

namespace penstock::report {

/// The value from `time` on.
struct Sample {
  core::Picoseconds time;
  std::int64_t value;
};

/// In order of time, one sample per moment and only where the value changes; the first at time zero. Empty
/// when the value is always zero.
using Curve = std::vector<Sample>;

/// Bytes of one kind.
Curve memory_curve(const trace::DeviceTrace& device, trace::MemoryKind kind);

/// Bytes of transfers under way, by device.
struct Moving {
  std::vector<Curve> out, in;
};
Moving moving_bytes(const trace::Trace& trace);

/// Bytes per second on each link of the cluster: a transfer loads every link of its route with its mean rate,
/// bytes by duration, from start to end. One that takes no time loads nothing.
std::vector<Curve> link_load(const trace::Trace& trace, const cluster::Cluster& cluster);

}  // namespace penstock::report
