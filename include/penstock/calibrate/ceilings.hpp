#pragma once
// The two roofs of a device and the price of a launch.

#include "penstock/calibrate/stopwatch.hpp"

namespace penstock::calibrate {

/// Read plus write of a copy of `bytes`, which caches do not hold.
core::Bandwidth copy_bandwidth(kernels::Backend& backend, kernels::Stream& stream, Stopwatch& stopwatch,
                               core::Bytes bytes);

/// Both read, one written: `bytes` are added to as many, which caches do not hold.
core::Bandwidth add_bandwidth(kernels::Backend& backend, kernels::Stream& stream, Stopwatch& stopwatch,
                              core::Bytes bytes);

/// Bytes per second that plain descent, and then zeroing the gradient, read and write on `bytes` of weights.
core::Bandwidth update_bandwidth(kernels::Backend& backend, kernels::Stream& stream, Stopwatch& stopwatch,
                                 core::Bytes bytes);

/// The best rate of square products from 512 on, doubled up to `largest` or until one takes 0.1 s.
core::FlopRate matmul_rate(kernels::Backend& backend, kernels::Stream& stream, Stopwatch& stopwatch,
                           cluster::Precision precision, std::int64_t largest = 8192);

/// Time between issuing the smallest kernel and the next, a thousand in a row and unbundled: the time of a
/// launch on a device that runs behind the caller, of a call to the library on the host.
core::Seconds launch_overhead(kernels::Backend& backend, kernels::Stream& stream, Stopwatch& stopwatch);

/// Time of a launch within one graph (Stream::bundle): what is left of it when the host has issued all of
/// them at once. For devices with graphs; a host has none.
core::Seconds graph_launch(kernels::Backend& backend, kernels::Stream& stream, Stopwatch& stopwatch);

/// Time of a kernel under the two roofs alone.
struct Roofline {
  core::Bandwidth copy;
  core::FlopRate matmul;
  core::Seconds time(const cost::Work& work, graph::Pass pass, std::int64_t samples) const;
};
Roofline roofline(const cost::Calibration& calibration, cluster::Precision precision);

}  // namespace penstock::calibrate
