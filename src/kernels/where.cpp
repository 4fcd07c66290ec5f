#include "where.hpp"

namespace penstock::kernels {

Buffer* find(const Operands& operands, Where where) {
  switch (where.role) {
    case Where::Role::input:
      return operands.inputs[where.index];
    case Where::Role::parameter:
      return operands.parameters[where.index];
    case Where::Role::saved:
      return operands.saved[where.index];
    case Where::Role::handed:
      return operands.handed[where.index];
    case Where::Role::output:
      return operands.output;
    case Where::Role::input_gradient:
      return operands.input_gradients[where.index];
    case Where::Role::parameter_gradient:
      return operands.parameter_gradients[where.index];
    case Where::Role::output_gradient:
      return operands.output_gradient;
    case Where::Role::scratch:
      break;
  }
  return nullptr;
}

}  // namespace penstock::kernels
