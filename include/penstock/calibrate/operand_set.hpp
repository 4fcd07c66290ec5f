#pragma once
// All buffers of one kernel, filled with random numbers.

#include <memory>
#include <vector>

#include "penstock/kernels/backend.hpp"

namespace penstock::calibrate {

/// Zeros would be faster than training data: a device that toggles fewer wires draws less power and keeps a
/// higher clock. Row numbers of a table lie within it. Outputs are undefined until the forward pass has run.
class OperandSet {
 public:
  /// Throws BadInput if the device has too little memory.
  OperandSet(kernels::Backend& backend, const graph::Operator& op, const kernels::KernelSlots& slots,
             std::uint64_t seed);
  const kernels::Operands& operands() const { return operands_; }

 private:
  kernels::Buffer* random(const kernels::Slot& slot);
  kernels::Buffer* empty(const kernels::Slot& slot);

  kernels::Backend& backend_;
  double rows_;  ///< of the table that int64 inputs point into
  std::uint64_t seed_;
  std::vector<std::unique_ptr<kernels::Buffer>> buffers_;
  kernels::Operands operands_;
};

}  // namespace penstock::calibrate
