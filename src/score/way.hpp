#pragma once
// The way of one sample down through a model, and of its gradient back up.

#include <span>
#include <vector>

#include "penstock/graph/op_graph.hpp"

namespace penstock::score {

/// How often the passes of an operator count.
struct Steps {
  double forward = 0, input_gradient = 0, weight_gradient = 0;
  /// Share of the ways whose turn waits for the operator, so that its backward passes wait for the way down.
  double leads = 0;
  friend bool operator==(const Steps&, const Steps&) = default;
};

/// What passes of an operator take; `weight_gradient` with what follows it.
struct PassTimes {
  double forward, input_gradient, weight_gradient;
};

/// The longest way: down to an operator, where it turns, and up to another, whose weight gradient ends it.
struct Way {
  std::vector<double> down;  ///< [op] the longest to the end of its forward pass
  std::vector<double> up;    ///< [op] the longest from the begin of its input gradient to the end of the way
  std::vector<Steps> steps;  ///< [op] of the longest of all
  std::size_t end = 0;       ///< the operator that ends it
  double length = 0;         ///< of the longest of all
};
Way longest_way(const graph::OpGraph& graph, std::span<const PassTimes> passes);

/// The mean over ways down to sinks and back up the same way, each to the end of its last input gradient.
/// Those that end in a sink, or come by a producer, count in proportion to the sink's or producer's `weight`.
std::vector<Steps> mean_way(const graph::OpGraph& graph, std::span<const double> weight);

/// The largest of an operator's producers' values; zero where it has none.
double most_of_producers(const graph::OpGraph& graph, std::size_t op, std::span<const double> values);

}  // namespace penstock::score
