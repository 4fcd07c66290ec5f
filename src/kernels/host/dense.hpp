#pragma once
// y = x W^T + b and its gradients, as steps of a program.

#include "host/kernel.hpp"

namespace penstock::kernels::host {

/// rows x in times (out x in)^T, with a bias of `out` or none.
struct DenseShape {
  std::int64_t rows, in, out;
  bool bias;
  Type type;

  Desc x() const { return plain({rows, in}, type); }
  Desc weights() const { return plain({out, in}, type); }
  Desc y() const { return plain({rows, out}, type); }
  Desc shift() const { return bias ? plain({out}, type) : Desc(); }
};

/// `after` is applied to y before it is stored.
void dense_forward(KernelProgram& program, const DenseShape& d, TensorLocation x, TensorLocation weights,
                   TensorLocation bias, TensorLocation y, const dnnl::post_ops& after = {});
void dense_input_gradient(KernelProgram& program, const DenseShape& d, TensorLocation y_gradient,
                          TensorLocation weights, TensorLocation x_gradient);
void dense_weight_gradient(KernelProgram& program, const DenseShape& d, TensorLocation x,
                           TensorLocation y_gradient, TensorLocation weights_gradient,
                           TensorLocation bias_gradient);

}  // namespace penstock::kernels::host
