#pragma once
// Softmax along rows, as steps of a program.

#include "host/kernel.hpp"

namespace penstock::kernels::host {

/// Softmax of rows x width; y may be x.
void softmax_forward(KernelProgram& program, const Desc& layout, TensorLocation x, TensorLocation y);
/// x_gradient may be y_gradient.
void softmax_gradient(KernelProgram& program, const Desc& layout, TensorLocation y, TensorLocation y_gradient,
                      TensorLocation x_gradient);

}  // namespace penstock::kernels::host
