#pragma once
// Element-wise functions as steps of a program.

#include "geometry.hpp"
#include "host/kernel.hpp"

namespace penstock::kernels::host {

/// True if the derivative follows from the output; otherwise (gelu) the argument must be saved.
inline bool from_output(Function function) {
  return function != Function::gelu;
}

/// Attribute for another primitive that applies the function to its output; `function` is not none.
dnnl::post_ops fused(Function function);
void function_forward(KernelProgram& program, Function function, const Desc& layout, TensorLocation x,
                      TensorLocation y);
/// `known` is the output if the derivative follows from it, otherwise the argument.
void function_gradient(KernelProgram& program, Function function, const Desc& layout, TensorLocation known,
                       TensorLocation y_gradient, TensorLocation x_gradient);

}  // namespace penstock::kernels::host
