#pragma once
// Ceilings of a device, for memory and arithmetic, and the time of a launch.

#include "penstock/calibrate/stopwatch.hpp"

namespace penstock::calibrate {

/// Read plus write of a copy of `bytes`, more than caches can hold.
core::Bandwidth copy_bandwidth(kernels::Backend& backend, kernels::Stream& stream, Stopwatch& stopwatch,
                               core::Bytes bytes);

/// Adds `bytes` to as many others, more than caches can hold: both read, one written.
core::Bandwidth add_bandwidth(kernels::Backend& backend, kernels::Stream& stream, Stopwatch& stopwatch,
                              core::Bytes bytes);

/// Bytes per second that plain descent, and then zeroing the gradient, read and write on `bytes` of weights.
core::Bandwidth update_bandwidth(kernels::Backend& backend, kernels::Stream& stream, Stopwatch& stopwatch,
                                 core::Bytes bytes);

/// The best rate of square products from 512 on, doubled up to `largest` or until one takes 0.1 s.
core::FlopRate matmul_rate(kernels::Backend& backend, kernels::Stream& stream, Stopwatch& stopwatch,
                           cluster::Precision precision, std::int64_t largest = 8192);

/// Time from issuing the smallest kernel to issuing the next, over a thousand in a row and unbundled. On a
/// device that runs behind the caller it is the time of a launch, on the host that of a library call.
core::Seconds launch_overhead(kernels::Backend& backend, kernels::Stream& stream, Stopwatch& stopwatch);

/// Time of a launch within one graph (Stream::bundle), for which the host issues all launches at once. For
/// devices with graphs; a host has none.
core::Seconds graph_launch(kernels::Backend& backend, kernels::Stream& stream, Stopwatch& stopwatch);

/// Ceilings of memory and arithmetic; time() depends on nothing else.
struct Roofline {
  core::Bandwidth copy;
  core::FlopRate matmul;
  core::Seconds time(const cost::KernelWork& work, graph::Pass pass, std::int64_t samples) const;
};
Roofline roofline(const cost::Calibration& calibration, cluster::Precision precision);

}  // namespace penstock::calibrate
