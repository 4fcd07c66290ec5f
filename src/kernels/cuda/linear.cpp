// A dense layer and a plain product. cuBLASLt adds the bias and applies a relu. Its gelu is the tanh
// approximation, so other functions are separate steps.

#include "cuda/dense.hpp"
#include "cuda/function.hpp"
#include "cuda/product.hpp"

namespace penstock::kernels::cuda {
namespace {

void linear_forward(KernelDraft& draft, const Linear& l, const DenseShape& d) {
  const bool relu = l.function == Function::relu, apart = l.function != Function::none && !relu;
  TensorLocation argument = kOutput;
  if (apart && !from_output(l.function)) {
    draft.slots.saved = {{"argument", draft.slots.output.shape, draft.element}};
    argument = saved(0);
  }
  dense_forward(draft.forward, draft, d, input(0), parameter(0), parameter(1), argument, relu);
  if (apart) function_forward(draft.forward, l.function, draft.element, d.rows * d.out, argument, kOutput);
}

/// Gradient of the function's argument.
TensorLocation argument_gradient(KernelProgram& program, const KernelDraft& draft, const Linear& l,
                                 const DenseShape& d) {
  if (l.function == Function::none) return kOutputGradient;
  const TensorLocation gradient = program.scratch(d.rows * d.out * size(draft.element));
  function_gradient(program, l.function, draft.element, d.rows * d.out,
                    from_output(l.function) ? kOutput : saved(0), kOutputGradient, gradient);
  return gradient;
}

}  // namespace

void build_linear(KernelDraft& draft) {
  const Linear l = linear(draft.op);
  const DenseShape d{draft.samples * l.rows, l.in, l.out, l.bias};
  linear_forward(draft, l, d);
  dense_input_gradient(draft.input_gradient, draft, d, argument_gradient(draft.input_gradient, draft, l, d),
                       parameter(0), input_gradient(0));
  dense_weight_gradient(draft.weight_gradient, draft, d, input(0),
                        argument_gradient(draft.weight_gradient, draft, l, d), parameter_gradient(0),
                        parameter_gradient(1));
}

void build_matmul(KernelDraft& draft) {
  const Product p = matmul(draft.op);
  const std::int64_t batch = draft.samples * p.batch;
  multiply(draft.forward, draft.libraries, draft.precision,
           {.rows = p.rows, .inner = p.inner, .columns = p.columns, .batch = batch}, {input(0)}, {input(1)},
           kOutput);
  multiply(draft.input_gradient, draft.libraries, draft.precision,
           {.rows = p.rows, .inner = p.columns, .columns = p.inner, .batch = batch}, {kOutputGradient},
           {input(1), true}, input_gradient(0));
  multiply(draft.input_gradient, draft.libraries, draft.precision,
           {.rows = p.inner, .inner = p.rows, .columns = p.columns, .batch = batch}, {input(0), true},
           {kOutputGradient}, input_gradient(1));
}

}  // namespace penstock::kernels::cuda
