#pragma once
// An iteration as one graph.

#include <vector>

#include "penstock/core/stop.hpp"
#include "penstock/graph/op_graph.hpp"
#include "penstock/plan/plan.hpp"
#include "penstock/replay/device_worker.hpp"

namespace penstock::replay {

/// Puts all work of an iteration on the streams of its devices at once, events between streams its only
/// order, and launches it as one graph where the devices can (Stream::bundle): no thread waits for another,
/// so what is left is what the devices themselves take. Each of the `launches` that count is timed between
/// events; two iterations come before, one without a graph. Messages go as fast as the devices copy, replicas
/// sum around a ring, and buffers of messages are held to the end of the iteration. Every launch is an
/// iteration of training, but for Adam, whose steps in a captured graph keep their number.
///
/// Workers, one per device with instructions (others null), have run the program before, so that libraries
/// are ready. Throws BadInput for a program of several mini-batches, which leave weights in other buffers
/// than before, for tensor parallelism and for parameters that stages share. Error(device_failed) where
/// memory is out; Interrupted between launches.
std::vector<core::Seconds> run_as_cuda_graph(const DevicePrograms& program, const graph::OpGraph& graph,
                                             const plan::Plan& plan,
                                             const std::vector<DeviceWorker*>& workers, int launches,
                                             core::StopToken stop);

}  // namespace penstock::replay
