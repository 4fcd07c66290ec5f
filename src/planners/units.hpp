#pragma once
// What a planner moves around: operators, each with the inputs it reads first.

#include <vector>

#include "penstock/graph/op_graph.hpp"

namespace penstock::planners {

/// An `input` operator does no work, so it is placed with its first consumer (the smallest-numbered one)
/// instead of occupying a device; an input nobody reads stays alone.
struct Units {
  std::vector<std::vector<core::OpId>> operators;  ///< [unit], ascending
  graph::Dag dag;                                  ///< over units, in topological order
};
Units planning_units(const graph::OpGraph& graph);
/// Whole layers, what stands before the first and what stands behind the last (plan/layer_row.hpp): where
/// training frameworks cut. Throws BadInput where the model is no row of layers.
Units layer_units(const graph::OpGraph& graph);

}  // namespace penstock::planners
