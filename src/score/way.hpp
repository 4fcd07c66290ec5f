#pragma once
// Path of one sample down through a model, and of its gradient back up.

#include <span>
#include <vector>

#include "penstock/graph/op_graph.hpp"

namespace penstock::score {

/// Number of times that each pass of an operator counts.
struct PassCounts {
  double forward = 0, input_gradient = 0, weight_gradient = 0;
  /// Fraction of paths whose turn waits for the operator, so that its backward passes wait for the way down.
  double leads = 0;
  friend bool operator==(const PassCounts&, const PassCounts&) = default;
};

/// Seconds of an operator's passes; `weight_gradient` includes what follows it.
struct PassTimes {
  double forward, input_gradient, weight_gradient;
};

/// The longest path: down to an operator, where it turns, and up to another, whose weight gradient ends it.
struct SamplePath {
  std::vector<double> down;       ///< [op] longest path to the end of its forward pass
  std::vector<double> up;         ///< [op] longest path from the start of its input gradient to the end
  std::vector<PassCounts> steps;  ///< [op] steps on the longest path of all
  std::size_t end = 0;            ///< operator that ends it
  double length = 0;              ///< seconds of the longest path of all
};
SamplePath longest_way(const graph::OpGraph& graph, std::span<const PassTimes> passes);

/// Mean over paths down to sinks and back up, each to the end of its last input gradient. Paths count in
/// proportion to `weight` of the sink in which they end, and of the producers through which they come.
std::vector<PassCounts> mean_way(const graph::OpGraph& graph, std::span<const double> weight);

/// Maximum value of an operator's producers; zero if it has none.
double most_of_producers(const graph::OpGraph& graph, std::size_t op, std::span<const double> values);

}  // namespace penstock::score
