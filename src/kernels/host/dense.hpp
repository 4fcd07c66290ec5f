#pragma once
// y = x W^T + b and its gradients, as steps of a program.

#include "host/kernel.hpp"

namespace penstock::kernels::host {

/// rows x in times (out x in)^T, with a bias of `out` or none.
struct Dense {
  std::int64_t rows, in, out;
  bool bias;
  Type type;

  Desc x() const { return plain({rows, in}, type); }
  Desc weights() const { return plain({out, in}, type); }
  Desc y() const { return plain({rows, out}, type); }
  Desc shift() const { return bias ? plain({out}, type) : Desc(); }
};

/// `after` is applied to y before it is stored.
void dense_forward(Program& program, const Dense& d, Where x, Where weights, Where bias, Where y,
                   const dnnl::post_ops& after = {});
void dense_input_gradient(Program& program, const Dense& d, Where y_gradient, Where weights,
                          Where x_gradient);
void dense_weight_gradient(Program& program, const Dense& d, Where x, Where y_gradient,
                           Where weights_gradient, Where bias_gradient);

}  // namespace penstock::kernels::host
