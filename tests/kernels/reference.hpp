#pragma once
// Every operator once more: in float64, in plain loops, with gradients by differentiation of those loops.

#include <cstdint>
#include <vector>

#include "penstock/graph/op_graph.hpp"

namespace reference {

using Values = std::vector<double>;

/// In the order and the layout of a kernel's slots.
struct Operands {
  std::vector<Values> inputs, parameters;
};

Values forward(const penstock::graph::Operator& op, std::int64_t samples, const Operands& operands);

/// The gradients of sum(y * y_gradient); empty for row numbers.
Operands gradients(const penstock::graph::Operator& op, std::int64_t samples, const Operands& operands,
                   const Values& y_gradient);

}  // namespace reference
