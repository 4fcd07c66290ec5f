#pragma once
// Times one operator's kernels.

#include <vector>

#include "penstock/calibrate/stopwatch.hpp"

namespace penstock::calibrate {

/// One operator at one number of samples, ready to be timed: kernel made, operands filled, forward run once.
class TimedKernel {
 public:
  /// Throws BadInput as Backend::make_kernel and Backend::allocate do.
  TimedKernel(kernels::Backend& backend, kernels::Stream& stream, const graph::Operator& op,
              std::int64_t samples, cluster::Precision precision);
  ~TimedKernel();

  bool has(graph::Pass pass) const;
  /// Weight_gradient comes after input_gradient, which leaves it their common results.
  void run(graph::Pass pass);
  cost::KernelPoint time(graph::Pass pass, Stopwatch& stopwatch);
  core::Bytes operand_bytes() const;  ///< of inputs, parameters and output

 private:
  struct TimingParts;
  std::unique_ptr<TimingParts> parts_;
};

}  // namespace penstock::calibrate
