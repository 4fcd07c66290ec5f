#pragma once
// FLOPs of matrix products, as their shapes give them: a model file that states others is in error.

#include <optional>

#include "penstock/graph/op_graph.hpp"

namespace penstock::graph {

/// FLOPs of one sample that contradict the operator's shape.
struct WorkFault {
  const char* key = "";             ///< "forward_flops", ...
  double stated = 0, by_shape = 0;  ///< FLOPs, two for each multiplication
};

/// The first of the three FLOP counts that no way to run the operator has. Only of dense layers, products,
/// convolutions and experts with all extents, whose work is known: what is fused into them adds little. A
/// count of 0 is not stated. Convolutions may leave out what lies in the padding.
std::optional<WorkFault> work_fault(const Operator& op);

}  // namespace penstock::graph
