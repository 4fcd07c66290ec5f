#include "where.hpp"

namespace penstock::kernels {

Buffer* find(const Operands& operands, TensorLocation where) {
  switch (where.role) {
    case TensorLocation::OperandRole::input:
      return operands.inputs[where.index];
    case TensorLocation::OperandRole::parameter:
      return operands.parameters[where.index];
    case TensorLocation::OperandRole::saved:
      return operands.saved[where.index];
    case TensorLocation::OperandRole::handed:
      return operands.handed[where.index];
    case TensorLocation::OperandRole::output:
      return operands.output;
    case TensorLocation::OperandRole::input_gradient:
      return operands.input_gradients[where.index];
    case TensorLocation::OperandRole::parameter_gradient:
      return operands.parameter_gradients[where.index];
    case TensorLocation::OperandRole::output_gradient:
      return operands.output_gradient;
    case TensorLocation::OperandRole::scratch:
      break;
  }
  return nullptr;
}

}  // namespace penstock::kernels
