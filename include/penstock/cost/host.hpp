#pragma once
// The host that launches a device's kernels: small ones wait for it.

#include "penstock/cost/cost_model.hpp"
#include "penstock/cost/launches.hpp"

namespace penstock::cost {

/// Seconds that the host takes to launch the passes of one device's part of an operator. `samples` are those
/// of the whole group. Zero where the device's runtime states no time per kernel.
OpTime launch_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                   std::int64_t samples, const OpShard& part);

/// Seconds that the host takes to launch the core's forward pass.
core::Seconds core_launch_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                               std::int64_t samples, const OpShard& part);

/// The host runs ahead of its device within an operator: a forward pass lasts as long as the slower of both,
/// and so does a backward pass. The wait of a backward pass is divided as the host's time is. Measured
/// training runs agree better with this than with a host that runs ahead through a whole stage
/// (docs/published_runs.md).
OpTime launched(const OpTime& device, const OpTime& host);

/// `time` of an operator's passes and FrameworkRuntime::per_task for each. A task-based runtime starts a pass when it
/// has heard that those before it are done, and a device idles meanwhile. A backward pass is one task; a pass
/// that launches no kernel is none.
OpTime handed_over(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                   OpTime time);

}  // namespace penstock::cost
