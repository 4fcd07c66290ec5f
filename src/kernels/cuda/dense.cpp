#include "cuda/dense.hpp"

#include "cuda/function.hpp"
#include "cuda/product.hpp"

namespace penstock::kernels::cuda {

void dense_forward(Program& program, const Draft& draft, const Dense& d, Where x, Where weights, Where bias,
                   Where y, bool relu) {
  multiply(program, draft.libraries, draft.precision,
           {.rows = d.rows, .inner = d.in, .columns = d.out, .bias = d.bias, .relu = relu}, {x},
           {weights, true}, y, bias);
}

void dense_input_gradient(Program& program, const Draft& draft, const Dense& d, Where y_gradient,
                          Where weights, Where x_gradient) {
  multiply(program, draft.libraries, draft.precision, {.rows = d.rows, .inner = d.out, .columns = d.in},
           {y_gradient}, {weights}, x_gradient);
}

void dense_weight_gradient(Program& program, const Draft& draft, const Dense& d, Where x, Where y_gradient,
                           Where weights_gradient, Where result) {
  multiply(program, draft.libraries, draft.precision, {.rows = d.out, .inner = d.rows, .columns = d.in},
           {y_gradient, true}, {x}, weights_gradient);
  if (d.bias) bias_gradient(program, draft.element, d.rows, d.out, y_gradient, result);
}

}  // namespace penstock::kernels::cuda
