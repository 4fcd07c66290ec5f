#pragma once
// Runs an iteration as one graph.

#include <vector>

#include "penstock/core/stop.hpp"
#include "penstock/graph/op_graph.hpp"
#include "penstock/plan/plan.hpp"
#include "penstock/replay/device_worker.hpp"

namespace penstock::replay {

/// Puts all work of an iteration on the streams of its devices at once, ordered only by events between
/// streams. Launches it as one graph if the devices support it (Stream::bundle). No thread waits for another,
/// so the time is that of the devices. Each of the measured `launches` is timed between events; two
/// iterations come before, one without a graph. Messages go as fast as the devices copy, replicas sum around
/// a ring, and message buffers are held to the end of the iteration. Every launch is an iteration of
/// training, except for Adam, whose step number is fixed in a captured graph.
///
/// Workers (one per device with instructions, others null) must have run the program before, so that
/// libraries are ready. Throws BadInput for a program of several mini-batches, whose weights move to other
/// buffers, for tensor parallelism, and for parameters that stages share. Throws Error(device_failed) if
/// memory runs out; Interrupted between launches.
std::vector<core::Seconds> run_as_cuda_graph(const DevicePrograms& program, const graph::OpGraph& graph,
                                             const plan::Plan& plan,
                                             const std::vector<DeviceWorker*>& workers, int launches,
                                             core::StopToken stop);

}  // namespace penstock::replay
