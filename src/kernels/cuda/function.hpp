#pragma once
// Element-wise steps of a program.

#include "cuda/program.hpp"
#include "geometry.hpp"

namespace penstock::kernels::cuda {

/// True if the derivative follows from the output; otherwise (gelu) the argument must be saved.
inline bool from_output(Function function) {
  return function != Function::gelu;
}

/// y = f(x) for `count` elements; y may be x. `function` is never none in this file.
void function_forward(KernelProgram& program, Function function, Element element, std::int64_t count,
                      TensorLocation x, TensorLocation y);
/// x' = f'(x) y'; `known` is the output if the derivative follows from it, otherwise the argument.
void function_gradient(KernelProgram& program, Function function, Element element, std::int64_t count,
                       TensorLocation known, TensorLocation y_gradient, TensorLocation x_gradient);

/// Adds `bias` to every row of y, rows x columns.
void add_bias(KernelProgram& program, Element element, std::int64_t rows, std::int64_t columns,
              TensorLocation bias, TensorLocation y);
/// Sum of all rows of y_gradient.
void bias_gradient(KernelProgram& program, Element element, std::int64_t rows, std::int64_t columns,
                   TensorLocation y_gradient, TensorLocation bias_gradient);

/// to += term
void add_elements(const LaunchQueue& queue, Element element, std::int64_t count, void* to, const void* term);

}  // namespace penstock::kernels::cuda
