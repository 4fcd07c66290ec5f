#pragma once
// Names of the tensors in a step of a pass.

#include <cstddef>
#include <cstdint>

#include "penstock/kernels/backend.hpp"

namespace penstock::kernels {

/// Location of a tensor: among the operands, or in the program's memory.
struct TensorLocation {
  enum class OperandRole : std::uint8_t {
    input,
    parameter,
    saved,
    handed,
    output,
    input_gradient,
    parameter_gradient,
    output_gradient,
    scratch
  };
  OperandRole role;
  std::size_t index = 0;
};

inline TensorLocation input(std::size_t i) {
  return {TensorLocation::OperandRole::input, i};
}
inline TensorLocation parameter(std::size_t i) {
  return {TensorLocation::OperandRole::parameter, i};
}
inline TensorLocation saved(std::size_t i) {
  return {TensorLocation::OperandRole::saved, i};
}
inline TensorLocation handed(std::size_t i) {
  return {TensorLocation::OperandRole::handed, i};
}
inline TensorLocation input_gradient(std::size_t i) {
  return {TensorLocation::OperandRole::input_gradient, i};
}
inline TensorLocation parameter_gradient(std::size_t i) {
  return {TensorLocation::OperandRole::parameter_gradient, i};
}
inline constexpr TensorLocation kOutput{TensorLocation::OperandRole::output};
inline constexpr TensorLocation kOutputGradient{TensorLocation::OperandRole::output_gradient};

/// Operand of that name; null for scratch.
Buffer* find(const Operands& operands, TensorLocation where);

}  // namespace penstock::kernels
