#pragma once
// y = x W^T + b and its gradients, as steps of a program.

#include "cuda/kernel.hpp"

namespace penstock::kernels::cuda {

/// rows x in times (out x in)^T, with a bias of `out` or none.
struct DenseShape {
  std::int64_t rows, in, out;
  bool bias;
};

void dense_forward(KernelProgram& program, const KernelDraft& draft, const DenseShape& d, TensorLocation x,
                   TensorLocation weights, TensorLocation bias, TensorLocation y, bool relu = false);
void dense_input_gradient(KernelProgram& program, const KernelDraft& draft, const DenseShape& d,
                          TensorLocation y_gradient, TensorLocation weights, TensorLocation x_gradient);
void dense_weight_gradient(KernelProgram& program, const KernelDraft& draft, const DenseShape& d,
                           TensorLocation x, TensorLocation y_gradient, TensorLocation weights_gradient,
                           TensorLocation bias_gradient);

}  // namespace penstock::kernels::cuda
