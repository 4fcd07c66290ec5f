#pragma once
// Names of the tensors in a step of a pass.

#include <cstddef>
#include <cstdint>

#include "penstock/kernels/backend.hpp"

namespace penstock::kernels {

/// Location of a tensor: among the operands, or in the program's memory.
struct Where {
  enum class Role : std::uint8_t {
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
  Role role;
  std::size_t index = 0;
};

inline Where input(std::size_t i) {
  return {Where::Role::input, i};
}
inline Where parameter(std::size_t i) {
  return {Where::Role::parameter, i};
}
inline Where saved(std::size_t i) {
  return {Where::Role::saved, i};
}
inline Where handed(std::size_t i) {
  return {Where::Role::handed, i};
}
inline Where input_gradient(std::size_t i) {
  return {Where::Role::input_gradient, i};
}
inline Where parameter_gradient(std::size_t i) {
  return {Where::Role::parameter_gradient, i};
}
inline constexpr Where kOutput{Where::Role::output};
inline constexpr Where kOutputGradient{Where::Role::output_gradient};

/// Operand of that name; null for scratch.
Buffer* find(const Operands& operands, Where where);

}  // namespace penstock::kernels
