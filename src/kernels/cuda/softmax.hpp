#pragma once
// Softmax along rows, as steps of a program.

#include "cuda/program.hpp"

namespace penstock::kernels::cuda {

/// Softmax of rows x width; y may be x.
void softmax_forward(KernelProgram& program, Element element, std::int64_t rows, std::int64_t width,
                     TensorLocation x, TensorLocation y);
/// x' = y (y' - sum of y y'); x_gradient may be y_gradient.
void softmax_gradient(KernelProgram& program, Element element, std::int64_t rows, std::int64_t width,
                      TensorLocation y, TensorLocation y_gradient, TensorLocation x_gradient);

}  // namespace penstock::kernels::cuda
