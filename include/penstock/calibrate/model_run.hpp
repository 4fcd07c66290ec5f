#pragma once
// A whole model's forward and backward pass against what its kernels take one by one.

#include <optional>

#include "penstock/calibrate/stopwatch.hpp"
#include "penstock/calibrate/worklist.hpp"

namespace penstock::calibrate {

/// Sums of medians over the operators and passes that training runs.
struct KernelSums {
  core::Seconds cold, back_to_back;
};
/// Sums over all kernels of the model; empty if one of them is not measured at that many samples.
std::optional<KernelSums> kernel_sums(const cost::Calibration& calibration, const graph::OpGraph& graph,
                                      std::int64_t samples, cluster::Precision precision);

/// Runs the model repeatedly: operators in order, each on the outputs of others, with gradients accumulated
/// at joins. The result also has the sums of kernels. Throws BadInput if a kernel is not measured yet, or
/// buffers need more than `memory`.
cost::ModelSum time_model(const cost::Calibration& calibration, kernels::Backend& backend,
                          kernels::Stream& stream, Stopwatch& stopwatch, const NamedModel& model,
                          std::int64_t samples, cluster::Precision precision, core::Bytes memory);

/// The kernel's point for that pass and number of samples; null if there is none.
const cost::KernelPoint* find_point(const cost::Calibration& calibration, const cost::KernelKey& key,
                                    graph::Pass pass, std::int64_t samples);

}  // namespace penstock::calibrate
