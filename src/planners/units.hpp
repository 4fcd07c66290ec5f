#pragma once
// Planning units: operators, each with the inputs that it is the first to read.

#include <vector>

#include "penstock/graph/op_graph.hpp"

namespace penstock::planners {

/// An `input` operator does no work, so it is placed with its first consumer (the smallest-numbered one)
/// instead of occupying a device. An input without readers is a unit.
struct UnitGraph {
  std::vector<std::vector<core::OpId>> operators;  ///< [unit] ascending
  graph::Dag dag;                                  ///< over units, in topological order
};
UnitGraph planning_units(const graph::OpGraph& graph);
/// Units of whole layers, of everything before the first, and of everything behind the last
/// (plan/layer_row.hpp): where training frameworks cut. Throws BadInput if the model is no row of layers.
UnitGraph layer_units(const graph::OpGraph& graph);

}  // namespace penstock::planners
