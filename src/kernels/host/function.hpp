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
void function_forward(Program& program, Function function, const Desc& layout, Where x, Where y);
/// `known` is the output if the derivative follows from it, otherwise the argument.
void function_gradient(Program& program, Function function, const Desc& layout, Where known, Where y_gradient,
                       Where x_gradient);

}  // namespace penstock::kernels::host
