#pragma once
// Calibrations made by hand.

#include <utility>

#include "penstock/cost/calibration.hpp"

namespace penstock::support {

/// `seconds`, give or take 2 %; ten timings.
inline cost::TimingSummary timing(double seconds) {
  const auto share = [&](double factor) { return core::Seconds(seconds * factor); };
  return {share(1), share(0.98), share(1.02), 10, share(0.99), share(1.01)};
}

inline cost::KernelPoint point(graph::Pass pass, std::int64_t samples, double seconds) {
  return {pass, samples, timing(2 * seconds), timing(seconds), "", core::Bytes(0)};
}

/// `seconds` cold, half of that back to back. Without whole models cold times count.
inline cost::KernelPoint cold_point(graph::Pass pass, std::int64_t samples, double seconds) {
  return point(pass, samples, seconds / 2);
}

/// A device of 1 TFLOP/s and 100 GB/s without launch overhead, only those kernels measured on it.
inline cost::Calibration bare_calibration(std::vector<cost::MeasuredKernel> kernels = {}) {
  cost::Calibration out;
  out.identity = {"Maker T1 16GB",
                  "cuda:0",
                  core::Bytes(16'000'000'000),
                  1,
                  0.25,
                  "2026-01-02T03:04:05Z",
                  "0123456789ab",
                  "penstock calibrate",
                  {{"driver", "1.2"}}};
  out.ceilings.copy = core::Bandwidth(1e11);
  out.ceilings.matmul[0] = core::FlopRate(1e12);
  out.kernels = std::move(kernels);
  return out;
}

/// A calibration like the bare one, with one of everything.
inline cost::Calibration full_calibration() {
  using namespace cost;
  Calibration out = bare_calibration();
  out.launch_overhead = core::Seconds(3e-6);
  MeasuredKernel linear{
      {graph::OpKind::linear, {{"rows", 1}, {"in", 8}, {"out", 16}}, cluster::Precision::fp32},
      {{core::Flops(256), core::Flops(256), core::Flops(256)}, core::Bytes(96), core::Bytes(512)},
      {point(graph::Pass::forward, 1, 1e-5), point(graph::Pass::forward, 2, 1.5e-5),
       point(graph::Pass::weight_gradient, 1, 2e-5)}};
  linear.points[0].algorithm = "tile \"64\"\n";
  linear.points[0].workspace = core::Bytes(4096);
  linear.points[1].visits = {{core::Seconds(3e-5), core::Seconds(1.5e-5)},
                             {core::Seconds(2.9e-5), core::Seconds(1.6e-5)}};
  out.kernels = {linear};
  out.links = {{LinkKind::all_reduce,
                4,
                {{core::Bytes(1024), timing(1e-6)}, {core::Bytes(4096), timing(2e-6)}},
                {{core::Bytes(1024), core::Bytes(4096), {6.7e-7, -1e-8, 7e-7}, {3.3e-10, 3e-10, 3.5e-10}}}}};
  out.sharing = {{LinkKind::device_copy, core::Bytes(1 << 20), timing(1e-4), timing(1.9e-4)}};
  out.overlap = {{timing(1e-3), timing(1.1e-3), timing(2e-3), timing(2.5e-3)}};
  out.models = {{"mmt",
                 {{"branches", "2"}},
                 4,
                 cluster::Precision::fp32,
                 timing(0.5),
                 core::Seconds(0.6),
                 core::Seconds(0.49)}};
  out.leave_one_out = {{graph::OpKind::linear, cost::FoldKind::samples_inside, 7, 0.021, 0.08}};
  out.crowding = {{"product", 0.04, "addition", 1, timing(9e-3), timing(9.9e-3), {1.1, 1.08, 1.12}}};
  out.graph_launch = core::Seconds(1.5e-6);
  return out;
}

}  // namespace penstock::support
