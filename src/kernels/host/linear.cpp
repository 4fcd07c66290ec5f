// A dense layer, with its function fused if the derivative follows from the output.

#include "host/dense.hpp"
#include "host/function.hpp"

namespace penstock::kernels::host {
namespace {

void linear_forward(KernelDraft& draft, const Linear& l, const DenseShape& d) {
  KernelProgram& program = draft.forward;
  const TensorLocation bias = parameter(1);
  if (l.function == Function::none) return dense_forward(program, d, input(0), parameter(0), bias, kOutput);
  if (from_output(l.function))
    return dense_forward(program, d, input(0), parameter(0), bias, kOutput, fused(l.function));
  draft.slots.saved.push_back({"argument", draft.slots.output.shape, draft.element});
  dense_forward(program, d, input(0), parameter(0), bias, saved(0));
  function_forward(program, l.function, d.y(), saved(0), kOutput);
}

/// Gradient of the function's argument.
TensorLocation argument_gradient(KernelProgram& program, const Linear& l, const DenseShape& d) {
  if (l.function == Function::none) return kOutputGradient;
  const PlacedTensor gradient = program.scratch(d.y());
  function_gradient(program, l.function, d.y(), from_output(l.function) ? kOutput : saved(0), kOutputGradient,
                    gradient.where);
  return gradient.where;
}

}  // namespace

void build_linear(KernelDraft& draft) {
  const Linear l = linear(draft.op);
  const DenseShape d{draft.samples * l.rows, l.in, l.out, l.bias, draft.type};
  linear_forward(draft, l, d);
  dense_input_gradient(draft.input_gradient, d, argument_gradient(draft.input_gradient, l, d), parameter(0),
                       input_gradient(0));
  dense_weight_gradient(draft.weight_gradient, d, input(0), argument_gradient(draft.weight_gradient, l, d),
                        parameter_gradient(0), parameter_gradient(1));
}

}  // namespace penstock::kernels::host
