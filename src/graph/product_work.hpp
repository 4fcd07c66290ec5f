#pragma once
// FLOPs, parameters and output bytes, as an operator's shape gives them: a model file that states others is in
// error.

#include <cstdint>
#include <optional>
#include <string>

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

/// A count that contradicts the operator's shape.
struct CountFault {
  const char* key = "";  ///< "parameters", "frozen_parameters" or "output_bytes"
  std::int64_t stated = 0;
  std::string by_shape;  ///< the shape's count with its unit: "144 parameters"
};

/// First count of the operator that its shape excludes; a count of 0 is not checked. Parameters: a matrix, its
/// bias or both, because either may be frozen; of attention at most all projections; of a product at most one
/// factor. `lends`: other operators use its parameters, so it may own several such matrices in one. Output
/// bytes: every number has `element_bytes`, or another usual size (2, 4 or 8) where precisions are mixed.
std::optional<CountFault> count_fault(const Operator& op, std::int64_t element_bytes, bool lends);

}  // namespace penstock::graph
