#pragma once
// A kernel with all its buffers: random operands, poisoned results, and both as values.

#include <array>
#include <memory>
#include <vector>

#include "kernels/reference.hpp"
#include "penstock/kernels/backend.hpp"

namespace penstock::test {

/// Makes the kernel and its buffers. Operands are random by `seed`, as the precision holds them; everything
/// else is poisoned, except gradients that are added to, which start as zeros.
class KernelTrial {
 public:
  KernelTrial(kernels::Backend& backend, const graph::Operator& op, std::int64_t samples,
              kernels::Precision precision, std::uint64_t seed);

  kernels::Kernel& kernel() { return *kernel_; }
  kernels::Operands& buffers() { return buffers_; }
  void run(graph::Pass pass);
  void run_all();  ///< every pass it has, in order

  reference::Operands operands() const;  ///< inputs and parameters, as rounded
  reference::Values output() const;
  reference::Values output_gradient() const;
  reference::Operands gradients() const;  ///< empty where there is none

 private:
  using Buffers = std::vector<kernels::Buffer*>;
  kernels::Buffer* add(const kernels::Slot& slot);
  Buffers add(const std::vector<kernels::Slot>& slots);
  void add_gradients();
  void draw(kernels::Buffer& buffer, std::uint64_t seed, double low = -1, double high = 1);
  std::vector<reference::Values> values(const Buffers& buffers) const;

  kernels::Precision precision_;
  kernels::Backend& backend_;
  std::unique_ptr<kernels::Stream> stream_;
  std::unique_ptr<kernels::Kernel> kernel_;
  std::vector<std::unique_ptr<kernels::Buffer>> owned_;
  kernels::Operands buffers_;
};

double length(const reference::Values& a);  ///< Euclidean norm

/// |a - b| / max(|b|, least); NaN where there is NaN anywhere. `least` is for what is zero except by rounding.
double distance(const reference::Values& a, const reference::Values& b, double least = 0);

}  // namespace penstock::test
