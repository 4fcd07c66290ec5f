#pragma once
// y = x W^T + b and its gradients, as steps of a program.

#include "cuda/kernel.hpp"

namespace penstock::kernels::cuda {

/// rows x in times (out x in)^T, with a bias of `out` or none.
struct Dense {
  std::int64_t rows, in, out;
  bool bias;
};

void dense_forward(Program& program, const Draft& draft, const Dense& d, Where x, Where weights, Where bias,
                   Where y, bool relu = false);
void dense_input_gradient(Program& program, const Draft& draft, const Dense& d, Where y_gradient,
                          Where weights, Where x_gradient);
void dense_weight_gradient(Program& program, const Draft& draft, const Dense& d, Where x, Where y_gradient,
                           Where weights_gradient, Where bias_gradient);

}  // namespace penstock::kernels::cuda
