#pragma once
// Element-wise functions as steps of a program.

#include "geometry.hpp"
#include "host/kernel.hpp"

namespace penstock::kernels::host {

/// The derivative follows from the output; else (gelu) the argument has to be saved.
inline bool from_output(Function function) {
  return function != Function::gelu;
}

/// To be applied by another primitive on its way out; `function` is not none.
dnnl::post_ops fused(Function function);
void function_forward(Program& program, Function function, const Desc& layout, Where x, Where y);
/// `known` is the output where the derivative follows from it, else the argument.
void function_gradient(Program& program, Function function, const Desc& layout, Where known, Where y_gradient,
                       Where x_gradient);

}  // namespace penstock::kernels::host
