#include "cuda/dense.hpp"

#include "cuda/function.hpp"
#include "cuda/product.hpp"

namespace penstock::kernels::cuda {

void dense_forward(KernelProgram& program, const KernelDraft& draft, const DenseShape& d, TensorLocation x,
                   TensorLocation weights, TensorLocation bias, TensorLocation y, bool relu) {
  multiply(program, draft.libraries, draft.precision,
           {.rows = d.rows, .inner = d.in, .columns = d.out, .bias = d.bias, .relu = relu}, {x},
           {weights, true}, y, bias);
}

void dense_input_gradient(KernelProgram& program, const KernelDraft& draft, const DenseShape& d,
                          TensorLocation y_gradient, TensorLocation weights, TensorLocation x_gradient) {
  multiply(program, draft.libraries, draft.precision, {.rows = d.rows, .inner = d.out, .columns = d.in},
           {y_gradient}, {weights}, x_gradient);
}

void dense_weight_gradient(KernelProgram& program, const KernelDraft& draft, const DenseShape& d,
                           TensorLocation x, TensorLocation y_gradient, TensorLocation weights_gradient,
                           TensorLocation result) {
  multiply(program, draft.libraries, draft.precision, {.rows = d.out, .inner = d.rows, .columns = d.in},
           {y_gradient, true}, {x}, weights_gradient);
  if (d.bias) bias_gradient(program, draft.element, d.rows, d.out, y_gradient, result);
}

}  // namespace penstock::kernels::cuda
